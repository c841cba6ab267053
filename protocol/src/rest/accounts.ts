import { z } from 'zod';
import { body, dateTime, string } from './atoms.ts';
import { operation } from './operation.ts';

export const roles = ['user', 'admin'] as const;
export const role = z.enum(roles);
export type Role = z.output<typeof role>;

/** An account as login and claim show it. */
export const briefUser = z.object({ id: z.string(), email: z.string(), username: z.string(), role });
export type BriefUser = z.output<typeof briefUser>;

/** An account as register and GET /v1/me show it. */
export const user = briefUser.extend({ created_at: dateTime });
export type User = z.output<typeof user>;

/** What signs a person in. access_token is readable here and never again. */
export const loginResponse = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_at: dateTime,
  user: briefUser,
  min_client_version: z.string().optional(),
  latest_client_version: z.string().optional(),
});
export type LoginResponse = z.output<typeof loginResponse>;

/** Client-made opaque id of a browser or device; empty counts as absent. */
export const deviceKey = string({ max: 256 }).nullish();

const registerBody = body({
  email: string(),
  username: string(),
  password: string(),
  invite_code: string().nullish(),
});

/** Email and password may be absent: that is a failed login, not a malformed request. */
const loginBody = body({
  email: string().nullish(),
  password: string().nullish(),
  device_key: deviceKey,
  client_version: string().nullish(),
  contract_version: string().nullish(),
});

/** Which names the certificate in force covers, and until when. */
export const certificateInfo = z.object({
  source: z.enum(['self_signed', 'provided']),
  fingerprint_sha256: z.string(),
  subject: z.string(),
  issuer: z.string(),
  not_before: dateTime,
  not_after: dateTime,
  days_until_expiry: z.int(),
  dns_names: z.array(z.string()),
  ip_addresses: z.array(z.string()),
  chain_length: z.int(),
  self_signed: z.boolean(),
});
export type CertificateInfo = z.output<typeof certificateInfo>;

/** How the request that asked for it reached the server. */
export const accessCheck = z.object({
  request: z.object({
    host: z.string(),
    origin: z.string(),
    scheme: z.enum(['http', 'https']),
    forwarded_proto: z.string().optional(),
    tls_terminated_upstream: z.boolean(),
    secure_context: z.boolean(),
  }),
  certificate: z.object({
    in_use: z.boolean(),
    not_in_use_reason: z.string().optional(),
    info: certificateInfo.optional(),
    host_covered: z.boolean().optional(),
    advice: z.string().optional(),
  }),
  origins: z.object({
    configured: z.boolean(),
    source: z.enum(['environment', 'database']),
    allowed: z.array(z.string()),
    request_origin_allowed: z.boolean().nullable(),
    same_origin_exemption: z.boolean(),
    advice: z.string().optional(),
    suggested_entry: z.string().optional(),
  }),
});
export type AccessCheck = z.output<typeof accessCheck>;

export const accountOperations = {
  'auth.register': operation({
    id: 'auth.register',
    method: 'POST',
    path: '/v1/auth/register',
    auth: 'public',
    summary: 'Create an account',
    body: { schema: registerBody },
    responses: { 201: z.object({ user }) },
    refusals: { rate_limited: '', registration_closed: '', invalid_invite: '', conflict: '' },
  }),
  'auth.login': operation({
    id: 'auth.login',
    method: 'POST',
    path: '/v1/auth/login',
    auth: 'public',
    summary: 'Sign in',
    body: { schema: loginBody },
    responses: { 200: loginResponse },
    refusals: { rate_limited: '', client_too_old: '', invalid_credentials: '' },
  }),
  'auth.logout': operation({
    id: 'auth.logout',
    method: 'POST',
    path: '/v1/auth/logout',
    auth: 'user',
    summary: 'Revoke the presented token',
    responses: { 204: null },
    versionGated: false,
  }),
  'me.read': operation({
    id: 'me.read',
    method: 'GET',
    path: '/v1/me',
    auth: 'user',
    summary: 'The account of the caller',
    responses: { 200: z.object({ user }) },
  }),
  'access.check': operation({
    id: 'access.check',
    method: 'GET',
    path: '/v1/admin/access-check',
    auth: 'admin',
    summary: 'How this very request reached the server',
    responses: { 200: accessCheck },
  }),
  'tls.certificate': operation({
    id: 'tls.certificate',
    method: 'GET',
    path: '/v1/tls/certificate.pem',
    auth: 'public',
    summary: 'The certificate in force, as PEM',
    responses: { 200: z.string() },
    contentType: 'application/x-pem-file',
  }),
} as const;
