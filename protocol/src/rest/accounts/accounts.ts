import { z } from 'zod';
import {
  MAX_EMAIL_CHARACTERS,
  MAX_PASSWORD_CHARACTERS,
  MAX_USERNAME_CHARACTERS,
  MIN_PASSWORD_CHARACTERS,
} from '../../bounds.ts';
import { body, dateTime, madeId, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

export const roles = ['user', 'admin'] as const;
export const role = z
  .enum(roles)
  .meta({ id: 'Role', description: 'What an account may do: `admin` runs the instance.' });
export type Role = z.output<typeof role>;

/** An account in the answers to login and claim. */
export const briefUser = z
  .object({
    id: madeId.describe('Id of the account.'),
    email: z.string().describe('Email address, trimmed and in lower case.'),
    username: z.string().describe('Name that other people see.'),
    role,
  })
  .meta({ id: 'BriefUser', description: 'The account that signed in.' });

/** An account in the answers to a registration and to GET /v1/me. */
export const user = briefUser
  .extend({ created_at: dateTime.describe('When the account was made.') })
  .meta({ id: 'User', description: 'An account.' });
export type User = z.output<typeof user>;

/** How a person can sign in to an account. */
export const signInMethods = z
  .array(z.enum(['password', 'oidc']))
  .describe(
    'How the owner can sign in: with a password, with the identity provider. Empty for accounts of programs.',
  );

/** Sign-in answer. Only this answer contains access_token. */
export const loginResponse = z
  .object({
    access_token: z
      .string()
      .describe('Opaque bearer token. It is shown this once and kept only as a digest.'),
    token_type: z.literal('Bearer').describe('Scheme of the Authorization header that carries the token.'),
    expires_at: dateTime.describe('When the token ends by itself.'),
    user: briefUser,
    min_client_version: z
      .string()
      .optional()
      .describe('Oldest client version that this server accepts; left out if it accepts all.'),
    latest_client_version: z
      .string()
      .optional()
      .describe('Newest client version that this server knows of; left out if none is configured.'),
  })
  .meta({ id: 'SignedIn', description: 'A new access token and its account.' });
export type LoginResponse = z.output<typeof loginResponse>;

/** Opaque id that a browser or device created for itself; an empty id counts as missing. */
export const deviceKey = string({ max: 256 })
  .nullish()
  .describe(
    'Opaque id that the client made for this browser or device. The token is bound to that device, so that it can be revoked with it. Null, "" or left out: bound to none.',
  );

/** Rules of a password, as a text for descriptions. */
export const passwordRules = `${MIN_PASSWORD_CHARACTERS} to ${MAX_PASSWORD_CHARACTERS} characters, taken as they are; none of the most common passwords, and neither the username nor the part of the email before the @ inside.`;

/** Fields of a new account. The service checks more than their types. */
export const newAccount = {
  email: string().describe(
    `Email address with an @, at most ${MAX_EMAIL_CHARACTERS} characters after trimming. Case has no meaning.`,
  ),
  username: string().describe(
    `Name that other people see: 1 to ${MAX_USERNAME_CHARACTERS} characters after trimming.`,
  ),
  password: string().describe(passwordRules),
};

const registerBody = body({
  ...newAccount,
  invite_code: string()
    .nullish()
    .describe('Code of an invite. Required while registration is by invite only, ignored otherwise.'),
});

/** Email and password may be missing. Such a request is a failed login, not a malformed request. */
const loginBody = body({
  email: string().nullish().describe('Email address of the account; case has no meaning.'),
  password: string().nullish().describe('Password of the account.'),
  device_key: deviceKey,
  client_version: string()
    .nullish()
    .describe('Version of the client, such as 1.4.0; null or left out if unknown.'),
  contract_version: string()
    .nullish()
    .describe('Version of this document that the client was written against; kept for later use.'),
});

/** Names that the current certificate covers, and the end of its validity. */
export const certificateInfo = z
  .object({
    source: z
      .enum(['self_signed', 'provided'])
      .describe('`self_signed`: made by the service. `provided`: put there by the operator.'),
    fingerprint_sha256: z
      .string()
      .describe('SHA-256 of the certificate in hexadecimal, for comparing by eye.'),
    subject: z.string().describe('Distinguished name of its owner.'),
    issuer: z.string().describe('Distinguished name of who signed it.'),
    not_before: dateTime.describe('When it begins to be valid.'),
    not_after: dateTime.describe('When it ceases to be valid.'),
    days_until_expiry: z.int().describe('Whole days until then, rounded down; negative once it has expired.'),
    dns_names: z.array(z.string()).describe('Host names that it covers.'),
    ip_addresses: z.array(z.string()).describe('Addresses that it covers.'),
    chain_length: z.int().describe('Number of certificates in the served chain.'),
    self_signed: z.boolean().describe('It is signed with its own key.'),
  })
  .meta({ id: 'Certificate', description: 'The certificate in force.' });
export type CertificateInfo = z.output<typeof certificateInfo>;

/** How the request reached the server, for example through a proxy. */
export const accessCheck = z
  .object({
    request: z
      .object({
        host: z.string().describe('The Host header, cut at 256 characters.'),
        origin: z.string().describe('The Origin header, cut at 256 characters; "" where there was none.'),
        scheme: z
          .enum(['http', 'https'])
          .describe('Scheme on the listener that took the request, whatever headers say.'),
        forwarded_proto: z
          .string()
          .optional()
          .describe('Scheme that a proxy in front reports; left out where none does.'),
        tls_terminated_upstream: z.boolean().describe('A proxy in front reports a scheme.'),
        secure_context: z
          .boolean()
          .describe('A browser at this address treats the page as secure, which streaming needs.'),
        advice: z
          .string()
          .optional()
          .describe(
            'What to set where the request came through a proxy that is not trusted; left out elsewhere.',
          ),
      })
      .describe('The request as it arrived.'),
    certificate: z
      .object({
        in_use: z.boolean().describe('The request came over TLS that this service ends itself.'),
        not_in_use_reason: z.string().optional().describe('Why TLS is not in use; left out if it is.'),
        info: certificateInfo.optional().describe('The certificate; left out while TLS is off.'),
        host_covered: z
          .boolean()
          .optional()
          .describe('It covers the host of the request; left out while it is not in use.'),
        advice: z.string().optional().describe('Recommended action; left out if none is needed.'),
      })
      .describe('What is known of the certificate.'),
    origins: z
      .object({
        configured: z.boolean().describe('At least one origin is allowed by name.'),
        source: z
          .enum(['environment', 'database'])
          .describe('Where the list comes from. One from the environment cannot be changed here.'),
        allowed: z.array(z.string()).describe('Origins whose pages may open the signaling socket.'),
        request_origin_allowed: z
          .boolean()
          .nullable()
          .describe('Whether pages of the request origin may do so; null if it had no origin.'),
        same_origin_exemption: z.boolean().describe('It is allowed only because it equals the Host header.'),
        advice: z.string().optional().describe('Recommended action; left out if none is needed.'),
        suggested_entry: z
          .string()
          .optional()
          .describe('Entry to add to the list; left out if that would not help.'),
      })
      .describe('Which pages may connect.'),
  })
  .meta({ id: 'AccessCheck', description: 'How this request reached the service.' });
export type AccessCheck = z.output<typeof accessCheck>;

/** Header of the answers in which an administrator signs in or reads their own account. */
export const PAGE_COOKIE =
  'For administrators: the page cookie `service_page`, which opens the pages below /admin and no operation.';

const exampleToken = 'q2Zx0b1Vb3m7Kf8dT6nWJr4cYp9sLhGeAuXiMoQvN5E';
const exampleBriefUser = {
  id: exampleIds.alice,
  email: 'alice@example.com',
  username: 'alice',
  role: 'user',
};
const exampleUser = { ...exampleBriefUser, created_at: '2026-11-20T09:30:00.000Z' };
/** Example answer of every sign-in operation. */
export const exampleSignedIn = {
  access_token: exampleToken,
  token_type: 'Bearer',
  expires_at: '2026-12-20T09:30:00.000Z',
  user: exampleBriefUser,
};

export const accountOperations = {
  'auth.register': operation({
    id: 'auth.register',
    method: 'POST',
    path: '/v1/auth/register',
    auth: 'public',
    summary: 'Create an account',
    body: { schema: registerBody },
    responses: { 201: z.object({ user }) },
    refusals: {
      rate_limited:
        'This address has signed in or registered too often, or too many passwords are waiting to be hashed.',
      registration_closed: 'The instance takes no registrations.',
      invalid_invite:
        'Registration is by invite only, and the code is missing, unknown, expired, used up or revoked.',
      conflict: 'An account with this email or username exists.',
    },
    example: {
      body: {
        email: 'alice@example.com',
        username: 'alice',
        password: 'a long walk by the sea',
        invite_code: 'K7QM-2XWD-9RTA',
      },
      response: { user: exampleUser },
    },
  }),
  'auth.login': operation({
    id: 'auth.login',
    method: 'POST',
    path: '/v1/auth/login',
    auth: 'public',
    summary: 'Sign in',
    headers: { 'Set-Cookie': PAGE_COOKIE },
    body: { schema: loginBody },
    responses: { 200: loginResponse },
    refusals: {
      rate_limited:
        'This address has signed in or registered too often; or, after the client version, too many logins by this name failed, or too many passwords are waiting to be hashed. A device that the account knows passes the limit by name.',
      client_too_old: 'The version of the client is below the oldest that this server accepts.',
      invalid_credentials:
        'There is no such account, it is disabled, or the password is wrong or missing; the answer does not say which.',
    },
    example: {
      body: {
        email: 'alice@example.com',
        password: 'a long walk by the sea',
        device_key: '5d1f0c9ab27e4e63',
        client_version: '1.4.0',
      },
      response: exampleSignedIn,
    },
  }),
  'auth.passwordReset': operation({
    id: 'auth.passwordReset',
    method: 'POST',
    path: '/v1/auth/password-reset',
    auth: 'public',
    summary: 'Set a new password with a link, and sign in',
    description:
      'Every other token of the account is revoked, so its devices have to sign in again. Sessions go on.',
    headers: { 'Set-Cookie': PAGE_COOKIE },
    body: {
      schema: body({
        token: string().describe('Token of the link.'),
        password: string().describe(passwordRules),
        device_key: deviceKey,
      }),
    },
    responses: { 200: loginResponse },
    refusals: {
      rate_limited:
        'This address has signed in or registered too often; or, after the rules of the password, too many passwords are waiting to be hashed.',
      unauthorized: 'The token is unknown, expired or used; the answer does not say which.',
      validation_failed: 'The password breaks a rule; the link stays good.',
    },
    example: {
      body: { token: exampleToken, password: 'a long walk by the sea' },
      response: exampleSignedIn,
    },
  }),
  'auth.logout': operation({
    id: 'auth.logout',
    method: 'POST',
    path: '/v1/auth/logout',
    auth: 'user',
    summary: 'Revoke the presented token',
    headers: { 'Set-Cookie': 'Also deletes the page cookie.' },
    responses: { 204: null },
    versionGated: false,
    example: {},
  }),
  'me.read': operation({
    id: 'me.read',
    method: 'GET',
    path: '/v1/me',
    auth: 'user',
    summary: 'The account of the caller',
    headers: { 'Set-Cookie': PAGE_COOKIE },
    responses: { 200: z.object({ user, sign_in_methods: signInMethods }) },
    example: { response: { user: exampleUser, sign_in_methods: ['password'] } },
  }),
  'access.check': operation({
    id: 'access.check',
    method: 'GET',
    path: '/v1/admin/access-check',
    auth: 'admin',
    summary: 'How this request reached the server',
    responses: { 200: accessCheck },
    example: {
      response: {
        request: {
          host: 'stream.example.com',
          origin: 'https://stream.example.com',
          scheme: 'https',
          tls_terminated_upstream: false,
          secure_context: true,
        },
        certificate: {
          in_use: true,
          info: {
            source: 'self_signed',
            fingerprint_sha256:
              '9F:4C:0B:51:EE:27:6A:D8:13:7C:90:B4:5E:21:F6:0D:88:3A:C5:79:42:BE:16:E0:5B:D3:67:1F:A4:9C:08:72',
            subject: 'CN=Footlight',
            issuer: 'CN=Footlight',
            not_before: '2026-11-20T09:00:00.000Z',
            not_after: '2028-11-19T09:00:00.000Z',
            days_until_expiry: 729,
            dns_names: ['stream.example.com', 'localhost'],
            ip_addresses: ['127.0.0.1'],
            chain_length: 1,
            self_signed: true,
          },
          host_covered: true,
          advice: 'The certificate is self-signed: browsers warn until it is trusted.',
        },
        origins: {
          configured: false,
          source: 'database',
          allowed: [],
          request_origin_allowed: true,
          same_origin_exemption: true,
        },
      },
    },
  }),
  'tls.certificate': operation({
    id: 'tls.certificate',
    method: 'GET',
    path: '/v1/tls/certificate.pem',
    auth: 'public',
    summary: 'The certificate in force, as PEM',
    responses: { 200: z.string().describe('One PEM block with the leaf certificate; never a key.') },
    contentType: 'application/x-pem-file',
    headers: {
      'Content-Disposition': 'A file name to save it under.',
      'X-Service-Certificate-Fingerprint': 'SHA-256 of the certificate, as `access.check` shows it.',
    },
    refusals: { internal: 'TLS is off in this service.' },
    example: {},
  }),
} as const;
