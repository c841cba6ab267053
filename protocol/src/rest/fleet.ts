import { z } from 'zod';
import { body, dateTime, idParams, int32, page, pageQuery, string } from './atoms.ts';
import { operation } from './operation.ts';

export const hostStatus = z.enum(['online', 'offline', 'draining']);
export const capacityDetection = z.enum(['ok', 'unavailable', 'failed']);

/** One finding of a host about itself. `status` is pass, fail or skip today; any other text is shown as it is. */
export const readinessCheck = z.object({
  id: z.string(),
  status: z.string(),
  summary: z.string(),
  remediation: z.array(z.string()),
});
export type ReadinessCheck = z.output<typeof readinessCheck>;

export const hostStorage = z.object({
  label: z.string(),
  path: z.string(),
  total_mb: z.int(),
  available_mb: z.int(),
});

/** Sums over the host's reported GPUs; MB are megabytes, vram_mb_used counts fresh samples only. */
export const hostCapacity = z.object({
  slots_total: z.int(),
  slots_used: z.int(),
  vram_mb_total: z.int(),
  vram_mb_used: z.int(),
  active_sessions: z.int(),
  gpu_count: z.int(),
});
export type HostCapacity = z.output<typeof hostCapacity>;

/** A machine that runs sessions. Null means not reported, never zero. */
export const host = z.object({
  id: z.string(),
  node_name: z.string(),
  status: hostStatus,
  agent_version: z.string().nullable(),
  cpu_cores: z.int().nullable(),
  mem_mb: z.int().nullable(),
  cpu_model: z.string().nullable(),
  last_registered_at: dateTime.nullable(),
  last_heartbeat_at: dateTime.nullable(),
  storage: z.array(hostStorage).nullable(),
  capacity_detection: capacityDetection,
  capacity_reason: z.string().nullable(),
  readiness: z.array(readinessCheck).nullable(),
  readiness_reported_at: dateTime.nullable(),
  capacity: hostCapacity.nullable(),
});
export type Host = z.output<typeof host>;

/** A GPU of a host; live VRAM samples are null when unknown. */
export const gpu = z.object({
  gpu_id: z.string(),
  gpu_index: z.int(),
  vendor: z.string(),
  model: z.string(),
  vram_mb_total: z.int(),
  vram_mb_reserved: z.int(),
  vram_mb_used: z.int().nullable(),
  vram_mb_free: z.int().nullable(),
  vram_sampled_at: dateTime.nullable(),
  slots_total: z.int(),
  slots_reserved: z.int(),
  active_sessions: z.int(),
  render_node: z.string().nullable(),
});
export type Gpu = z.output<typeof gpu>;

/** Name an agent registers with. */
export const nodeName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/);

/** A token that enrols one new host. The token itself is in the answer that made it and nowhere else. */
export const enrollmentToken = z.object({
  id: z.string(),
  note: z.string(),
  node_name: z.string().nullable(),
  created_at: dateTime,
  expires_at: dateTime,
  used_at: dateTime.nullable(),
  host_id: z.string().nullable(),
});
export type EnrollmentToken = z.output<typeof enrollmentToken>;

const mintedEnrollmentToken = z.object({
  id: z.string(),
  token: z.string(),
  expires_at: dateTime,
  command: z.string(),
});

const enrollmentTokenBody = body({
  note: string({ max: 200 }).optional(),
  ttl_seconds: int32(60, 604800).default(3600),
  node_name: nodeName.optional(),
});

export const fleetOperations = {
  'hosts.list': operation({
    id: 'hosts.list',
    method: 'GET',
    path: '/v1/hosts',
    auth: 'admin',
    summary: 'Hosts, newest first',
    query: pageQuery(50),
    responses: { 200: page(host) },
  }),
  'hosts.read': operation({
    id: 'hosts.read',
    method: 'GET',
    path: '/v1/hosts/{id}',
    auth: 'admin',
    summary: 'One host',
    params: idParams,
    responses: { 200: host },
    refusals: { not_found: '' },
  }),
  'hosts.gpus': operation({
    id: 'hosts.gpus',
    method: 'GET',
    path: '/v1/hosts/{id}/gpus',
    auth: 'admin',
    summary: "A host's GPUs; none while their detection is not ok",
    params: idParams,
    responses: { 200: z.object({ items: z.array(gpu) }) },
    refusals: { not_found: '' },
  }),
  'hosts.drain': operation({
    id: 'hosts.drain',
    method: 'POST',
    path: '/v1/hosts/{id}/drain',
    auth: 'admin',
    summary: 'Place nothing more on a host; with force also stop what runs there',
    params: idParams,
    body: { schema: body({ force: z.boolean().default(false) }), optional: true },
    responses: { 200: host },
    refusals: { not_found: '' },
  }),
  'hosts.uncordon': operation({
    id: 'hosts.uncordon',
    method: 'POST',
    path: '/v1/hosts/{id}/uncordon',
    auth: 'admin',
    summary: 'Return a host to service',
    params: idParams,
    responses: { 200: host },
    refusals: { not_found: '' },
  }),
  'hosts.delete': operation({
    id: 'hosts.delete',
    method: 'DELETE',
    path: '/v1/hosts/{id}',
    auth: 'admin',
    summary: 'Forget a host that is away and holds nothing',
    params: idParams,
    responses: { 204: null },
    refusals: { not_found: '', conflict: '' },
  }),
  'enrollmentTokens.create': operation({
    id: 'enrollmentTokens.create',
    method: 'POST',
    path: '/v1/admin/enrollment-tokens',
    auth: 'admin',
    summary: 'Mint a token that enrols one host',
    body: { schema: enrollmentTokenBody, optional: true },
    responses: { 201: mintedEnrollmentToken },
  }),
  'enrollmentTokens.list': operation({
    id: 'enrollmentTokens.list',
    method: 'GET',
    path: '/v1/admin/enrollment-tokens',
    auth: 'admin',
    summary: 'Minted tokens, newest first',
    responses: { 200: z.object({ items: z.array(enrollmentToken) }) },
  }),
  'enrollmentTokens.delete': operation({
    id: 'enrollmentTokens.delete',
    method: 'DELETE',
    path: '/v1/admin/enrollment-tokens/{id}',
    auth: 'admin',
    summary: 'Withdraw a token',
    params: idParams,
    responses: { 204: null },
    refusals: { not_found: '' },
  }),
  'agent.connect': operation({
    id: 'agent.connect',
    method: 'GET',
    path: '/agent/ws',
    auth: 'node',
    summary: 'The socket of a host',
    responses: { 101: null },
    refusals: { forbidden: '', validation_failed: '', rate_limited: '', conflict: '' },
    websocket: true,
  }),
} as const;
