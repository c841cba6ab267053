import { z } from 'zod';
import { NODE_NAME_PATTERN } from '../../agent/limits.ts';
import { body, dateTime, idParams, int32, madeId, page, pageQuery, searchText, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

export const hostStatus = z.enum(['online', 'offline', 'draining']);
export const capacityDetection = z.enum(['ok', 'unavailable', 'failed']);

/** A readiness check of a host. `status` is pass, fail or skip; any other text is shown unchanged. */
export const readinessCheck = z
  .object({
    id: z.string().describe('Stable name of the check.'),
    status: z.string().describe('`pass`, `fail` or `skip` (does not concern this host). May grow.'),
    summary: z.string().describe('The finding in a sentence, for people.'),
    remediation: z.array(z.string()).describe('Commands that would put it right; empty for pass and skip.'),
  })
  .meta({ id: 'ReadinessCheck', description: 'One finding of a host about itself.' });

export const hostStorage = z
  .object({
    label: z.string().describe('What the place is for, such as `homes`.'),
    path: z.string().describe('Path on the host.'),
    total_mb: z.int().describe('Size in MB.'),
    available_mb: z.int().describe('Free, in MB.'),
  })
  .meta({ id: 'HostStorage', description: 'A place on a host where something is kept.' });

export type HostStorage = z.output<typeof hostStorage>;

/** Sums over the GPUs that the host reported. MB are megabytes; vram_mb_used includes only fresh samples. */
export const hostCapacity = z
  .object({
    slots_total: z.int().describe('Encode slots.'),
    slots_used: z.int().describe('Encode slots that sessions hold.'),
    vram_mb_total: z.int().describe('Video memory, in MB.'),
    vram_mb_used: z
      .int()
      .describe('Video memory in use, in MB, over the GPUs with a fresh sample; 0 where none has one.'),
    active_sessions: z.int().describe('Sessions that hold a slot.'),
    gpu_count: z.int().describe('GPUs that the host reports.'),
  })
  .meta({ id: 'HostCapacity', description: 'Sums over the GPUs that a host reports.' });
export type HostCapacity = z.output<typeof hostCapacity>;

/** A machine that runs sessions. null: the value was not reported, which never means zero. */
export const host = z
  .object({
    id: madeId.describe('Id of the host.'),
    node_name: z.string().describe('Unique name that its agent registers with.'),
    status: hostStatus.describe(
      '`online` takes sessions, `draining` takes no new ones, `offline` has no connection.',
    ),
    agent_version: z.string().nullable().describe('Version of its agent; null if never reported.'),
    cpu_cores: z.int().nullable().describe('Cores; null if never reported.'),
    mem_mb: z.int().nullable().describe('Memory in MB; null if never reported.'),
    cpu_model: z.string().nullable().describe('Model of the processor; null if never reported.'),
    last_registered_at: dateTime.nullable().describe('When its agent last connected; null: never.'),
    last_heartbeat_at: dateTime.nullable().describe('When its last message arrived; null: never.'),
    storage: z.array(hostStorage).nullable().describe('Where it keeps things; null if never reported.'),
    capacity_detection: capacityDetection.describe(
      'Whether it knows its GPUs; only with `ok` it takes sessions.',
    ),
    capacity_reason: z.string().nullable().describe('Why it does not know them; null with `ok`.'),
    readiness: z
      .array(readinessCheck)
      .nullable()
      .describe('Its readiness checks; null if never reported, empty if there are none.'),
    readiness_reported_at: dateTime
      .nullable()
      .describe('When these findings last changed; null: never reported.'),
    capacity: hostCapacity
      .nullable()
      .describe('Sums over its GPUs; null where it has none that can be used.'),
  })
  .meta({ id: 'Host', description: 'A machine that runs sessions. Null means not reported, never zero.' });
export type Host = z.output<typeof host>;

/** A GPU of a host. Samples of VRAM are null if they are unknown. */
export const gpu = z
  .object({
    gpu_id: madeId.describe('Id of the GPU.'),
    gpu_index: z.int().describe('Its place among the GPUs of the host, from 0.'),
    vendor: z.string().describe('Maker, such as `nvidia`.'),
    model: z.string().describe('Model, as its driver names it.'),
    vram_mb_total: z.int().describe('Video memory in MB.'),
    vram_mb_reserved: z.int().meta({
      deprecated: true,
      description:
        'Video memory in MB that its sessions declared. Deprecated: it takes no part in placement, new sessions record 0, and it is no measure of use. See vram_mb_used.',
    }),
    vram_mb_used: z
      .int()
      .nullable()
      .describe('Video memory in use, in MB, as last sampled; null: unknown, not zero.'),
    vram_mb_free: z
      .int()
      .nullable()
      .describe('Video memory free, in MB, as last sampled; null: unknown, not zero.'),
    vram_sampled_at: dateTime
      .nullable()
      .describe('When it was sampled, by the clock of this service; null: never.'),
    slots_total: z.int().describe('Encode slots.'),
    slots_reserved: z.int().describe('Encode slots that sessions hold.'),
    active_sessions: z.int().describe('Sessions that hold a slot.'),
    render_node: z
      .string()
      .nullable()
      .describe('Its device on the host, such as /dev/dri/renderD128; null where it has none.'),
  })
  .meta({ id: 'Gpu', description: 'A GPU of a host.' });
export type Gpu = z.output<typeof gpu>;

const hostGpus = z
  .object({
    host_id: madeId.describe('Id of the host.'),
    gpus: z.array(gpu).describe('Its GPUs, by their index; none while their detection is not ok.'),
  })
  .meta({ id: 'HostGpus', description: 'The GPUs of one host.' });
export type HostGpus = z.output<typeof hostGpus>;

/** Name with which an agent registers. */
const nodeName = z.string().regex(NODE_NAME_PATTERN);

/** A token that enrolls one host. Only the answer that created it contains its text. */
export const enrollmentToken = z
  .object({
    id: madeId.describe('Id of the token; not the token itself.'),
    note: z.string().describe('What it was minted for; "" where nothing was noted.'),
    node_name: z.string().nullable().describe('The only name that it enrolls; null: any.'),
    created_at: dateTime.describe('When it was minted.'),
    expires_at: dateTime.describe('When it ends.'),
    used_at: dateTime.nullable().describe('When a host enrolled with it; null: not yet.'),
    host_id: madeId.nullable().describe('Id of that host; null: none yet, or it was forgotten.'),
  })
  .meta({ id: 'EnrollmentToken', description: 'A token that enrolls one host, without the token itself.' });
export type EnrollmentToken = z.output<typeof enrollmentToken>;

const mintedEnrollmentToken = z
  .object({
    id: madeId.describe('Id of the token.'),
    token: z.string().describe('The token. It is shown this once and kept only as a digest.'),
    expires_at: dateTime.describe('When it ends.'),
    command: z
      .string()
      .describe(
        'The one line to run on the new host: it installs the agent, enrolls it and starts it. It carries the token.',
      ),
  })
  .meta({ id: 'MintedEnrollmentToken', description: 'A fresh token, readable this once.' });

const enrollmentTokenBody = body({
  note: string({ max: 200 }).optional().describe('What it is for, to tell it from others.'),
  ttl_seconds: int32(60, 604800).default(3600).describe('How long it is good for, in seconds.'),
  node_name: nodeName.optional().describe('The only name that it may enroll; left out: any new one.'),
});

const exampleHost = {
  id: exampleIds.host,
  node_name: 'node-1',
  status: 'online',
  agent_version: '0.1.0',
  cpu_cores: 16,
  mem_mb: 64221,
  cpu_model: 'AMD Ryzen 9 7950X',
  last_registered_at: '2026-11-20T08:00:00.000Z',
  last_heartbeat_at: '2026-11-20T10:00:00.000Z',
  storage: [{ label: 'homes', path: '/var/lib/footlight/homes', total_mb: 953674, available_mb: 702345 }],
  capacity_detection: 'ok',
  capacity_reason: null,
  readiness: [
    {
      id: 'gpu_driver',
      status: 'pass',
      summary: 'The driver of the GPU answers.',
      remediation: [],
    },
  ],
  readiness_reported_at: '2026-11-20T08:00:02.000Z',
  capacity: {
    slots_total: 4,
    slots_used: 1,
    vram_mb_total: 16376,
    vram_mb_used: 2310,
    active_sessions: 1,
    gpu_count: 1,
  },
};
const exampleGpu = {
  gpu_id: exampleIds.gpu,
  gpu_index: 0,
  vendor: 'nvidia',
  model: 'NVIDIA GeForce RTX 4080',
  vram_mb_total: 16376,
  vram_mb_reserved: 0,
  vram_mb_used: 2310,
  vram_mb_free: 14066,
  vram_sampled_at: '2026-11-20T09:59:58.000Z',
  slots_total: 4,
  slots_reserved: 1,
  active_sessions: 1,
  render_node: '/dev/dri/renderD128',
};
const exampleToken = {
  id: exampleIds.enrollmentToken,
  note: 'the machine in the cellar',
  node_name: 'node-2',
  created_at: '2026-11-20T10:00:00.000Z',
  expires_at: '2026-11-20T11:00:00.000Z',
  used_at: null,
  host_id: null,
};
const hostOrders = ['name', 'state', 'slots', 'sessions', 'memory', 'heard', 'agent'] as const;
export type HostOrder = (typeof hostOrders)[number];
const hostSort = z
  .enum(hostOrders.flatMap((order) => [order, `-${order}` as const]))
  .describe(
    'Order by name, status, slots in use, sessions, video memory, last message or agent version; `-` reverses it, and hosts without the value are always last. Left out: newest first.',
  );

const hostQuery = pageQuery(50).extend({
  q: searchText.describe('Part of the name, whatever its case; blank: all hosts.'),
  attention: z
    .stringbool()
    .optional()
    .describe(
      'true: only hosts that are offline, whose capacity is unknown, or that failed a readiness check.',
    ),
  sort: hostSort.optional(),
});

const fleetSummary = z
  .object({
    hosts: z
      .object({
        online: z.int().describe('Hosts that take sessions.'),
        draining: z.int().describe('Hosts that take no new sessions.'),
        offline: z.int().describe('Hosts without a connection.'),
      })
      .describe('Number of hosts by status.'),
    slots: z
      .object({
        total: z.int().describe('All encode slots.'),
        used: z.int().describe('Encode slots that sessions hold.'),
      })
      .describe('Encode slots of the online hosts.'),
  })
  .meta({ id: 'FleetSummary', description: 'Counts of the whole fleet.' });
export type FleetSummary = z.output<typeof fleetSummary>;

const byId = { id: exampleHost.id };
const NO_HOST = 'There is no such host.';
const NO_AGENT = 'This build carries no agent for other hosts.';

export const fleetOperations = {
  'fleet.summary': operation({
    id: 'fleet.summary',
    method: 'GET',
    path: '/v1/admin/fleet',
    auth: 'admin',
    summary: 'Number of hosts and slots',
    responses: { 200: fleetSummary },
    example: {
      response: {
        hosts: { online: 11, draining: 0, offline: 1 },
        slots: { total: 44, used: 12 },
      },
    },
  }),
  'hosts.list': operation({
    id: 'hosts.list',
    method: 'GET',
    path: '/v1/hosts',
    auth: 'admin',
    summary: 'Hosts, newest first or in another order',
    query: hostQuery,
    responses: { 200: page(host) },
    example: { query: { limit: '20' }, response: { items: [exampleHost], next_cursor: null } },
  }),
  'hosts.read': operation({
    id: 'hosts.read',
    method: 'GET',
    path: '/v1/hosts/{id}',
    auth: 'admin',
    summary: 'One host',
    params: idParams,
    responses: { 200: host },
    refusals: { not_found: NO_HOST },
    example: { params: byId, response: exampleHost },
  }),
  'hosts.gpus': operation({
    id: 'hosts.gpus',
    method: 'GET',
    path: '/v1/hosts/{id}/gpus',
    auth: 'admin',
    summary: "A host's GPUs; none while their detection is not ok",
    params: idParams,
    responses: { 200: z.object({ items: z.array(gpu).describe('The GPUs, by their index.') }) },
    refusals: { not_found: NO_HOST },
    example: { params: byId, response: { items: [exampleGpu] } },
  }),
  'gpus.list': operation({
    id: 'gpus.list',
    method: 'GET',
    path: '/v1/gpus',
    auth: 'admin',
    summary: 'The GPUs of each host, in the order of the list of hosts',
    query: hostQuery,
    responses: { 200: page(hostGpus) },
    example: {
      query: { limit: '20' },
      response: { items: [{ host_id: exampleHost.id, gpus: [exampleGpu] }], next_cursor: null },
    },
  }),
  'hosts.drain': operation({
    id: 'hosts.drain',
    method: 'POST',
    path: '/v1/hosts/{id}/drain',
    auth: 'admin',
    summary: 'Place nothing more on a host; with force also stop what runs there',
    params: idParams,
    body: {
      schema: body({
        force: z.boolean().default(false).describe('Also stop the sessions that run there.'),
      }),
      optional: true,
    },
    responses: { 200: host },
    refusals: { not_found: NO_HOST },
    example: { params: byId, body: { force: false }, response: { ...exampleHost, status: 'draining' } },
  }),
  'hosts.uncordon': operation({
    id: 'hosts.uncordon',
    method: 'POST',
    path: '/v1/hosts/{id}/uncordon',
    auth: 'admin',
    summary: 'Return a host to service',
    params: idParams,
    responses: { 200: host },
    refusals: { not_found: NO_HOST },
    example: { params: byId, response: exampleHost },
  }),
  'hosts.delete': operation({
    id: 'hosts.delete',
    method: 'DELETE',
    path: '/v1/hosts/{id}',
    auth: 'admin',
    summary: 'Forget a host that is away and holds nothing',
    params: idParams,
    responses: { 204: null },
    refusals: { not_found: NO_HOST, conflict: 'Its agent is connected, or sessions are still on it.' },
    example: { params: byId },
  }),
  'enrollmentTokens.create': operation({
    id: 'enrollmentTokens.create',
    method: 'POST',
    path: '/v1/admin/enrollment-tokens',
    auth: 'admin',
    summary: 'Mint a token that enrolls one host',
    description:
      'The answer carries the line that adds the host. Where this request came over the service’s own TLS, the line pins the certificate that answers there; behind a proxy it leaves that to the certificates that the host trusts.',
    body: { schema: enrollmentTokenBody, optional: true },
    responses: { 201: mintedEnrollmentToken },
    example: {
      body: { note: exampleToken.note, ttl_seconds: 3600, node_name: 'node-2' },
      response: {
        id: exampleToken.id,
        token: 'Zk3vQm8sT1xLr6uYb0dWf5nCj9hPgEaViOo2KtXqN7M',
        expires_at: exampleToken.expires_at,
        command:
          'curl -fsS https://play.example.org/install/agent.sh | sudo SERVICE_CONTROL_URL=https://play.example.org SERVICE_ENROLLMENT_TOKEN=Zk3vQm8sT1xLr6uYb0dWf5nCj9hPgEaViOo2KtXqN7M SERVICE_NODE_NAME=node-2 sh',
      },
    },
  }),
  'enrollmentTokens.list': operation({
    id: 'enrollmentTokens.list',
    method: 'GET',
    path: '/v1/admin/enrollment-tokens',
    auth: 'admin',
    summary: 'Minted tokens, newest first',
    responses: { 200: z.object({ items: z.array(enrollmentToken).describe('The tokens.') }) },
    example: { response: { items: [exampleToken] } },
  }),
  'enrollmentTokens.delete': operation({
    id: 'enrollmentTokens.delete',
    method: 'DELETE',
    path: '/v1/admin/enrollment-tokens/{id}',
    auth: 'admin',
    summary: 'Withdraw a token',
    params: idParams,
    responses: { 204: null },
    refusals: { not_found: 'There is no such token.' },
    example: { params: { id: exampleToken.id } },
  }),
  'install.script': operation({
    id: 'install.script',
    method: 'GET',
    path: '/install/agent.sh',
    auth: 'public',
    summary: 'The script that makes a machine a host',
    description:
      'For a shell of the new host; `POST /v1/admin/enrollment-tokens` answers the whole line. It carries the SHA-256 of the archive that it fetches, and no secret.',
    responses: { 200: z.string().describe('The script.') },
    refusals: { not_found: NO_AGENT },
    contentType: 'text/x-shellscript; charset=utf-8',
    example: {},
  }),
  'install.archive': operation({
    id: 'install.archive',
    method: 'GET',
    path: '/install/agent-linux-x64.tgz',
    auth: 'public',
    summary: 'The agent, packed for other hosts',
    description:
      'Node, the agent and its native modules for Linux on x86-64. It holds no secret. It is sent at 8 MiB a second at most.',
    responses: { 200: z.string().describe('The archive.') },
    refusals: { rate_limited: 'This address fetched it ten times within an hour.', not_found: NO_AGENT },
    contentType: 'application/gzip',
    example: {},
  }),
  'agent.connect': operation({
    id: 'agent.connect',
    method: 'GET',
    path: '/agent/ws',
    auth: 'node',
    summary: 'The socket of a host',
    description:
      'A WebSocket of JSON text messages between the service and the agent of one host. The agent registers, tells what the host can do and what happens to its sessions; the service answers and sends commands, each with an id that is acknowledged once.\n\nThe request names the host in `X-Service-Node`, and its process in `X-Service-Boot`. An agent that enrolls repeats `X-Service-Enroll` until it has its secret. The messages: protocol/src/agent.',
    responses: { 101: null },
    refusals: {
      forbidden: 'The request names an origin: pages may not open this socket.',
      validation_failed: 'The request is no WebSocket upgrade.',
      rate_limited: 'This address or name has presented too many bad credentials.',
      conflict: 'A token would enroll a name that is connected, or that belongs to an enrolled host.',
      internal:
        'More hosts connect at once than can be registered (503), with a Retry-After; comes before the credential is checked.',
    },
    websocket: true,
    example: {},
  }),
} as const;
