import { z } from 'zod';
import { body } from '../atoms.ts';
import { operation } from '../operation.ts';
import { deviceKey, exampleSignedIn, loginResponse, newAccount, PAGE_COOKIE } from './accounts.ts';

/** Progress of the first-run set-up. */
export const setupStatus = z
  .object({
    admin_exists: z.boolean().describe('At least one account is an administrator.'),
    setup_completed: z.boolean().describe('The set-up wizard was finished or skipped.'),
  })
  .meta({ id: 'SetupStatus', description: 'How far the first-run set-up has come.' });
export type SetupStatus = z.output<typeof setupStatus>;

/** Largest body. An account with a device key needs less than 1 KiB, and anyone may send this body. */
const CLAIM_BODY_BYTES = 4 * 1024;

const claimBody = body({ ...newAccount, device_key: deviceKey });

export const setupOperations = {
  'setup.status': operation({
    id: 'setup.status',
    method: 'GET',
    path: '/v1/setup/status',
    auth: 'public',
    summary: 'Whether an administrator exists and the set-up was finished',
    responses: { 200: setupStatus },
    example: { response: { admin_exists: true, setup_completed: false } },
  }),
  'setup.claim': operation({
    id: 'setup.claim',
    method: 'POST',
    path: '/v1/setup/claim',
    auth: 'setup-token',
    summary: 'Create the first administrator and sign in',
    headers: { 'Set-Cookie': PAGE_COOKIE },
    body: { schema: claimBody, maxBytes: CLAIM_BODY_BYTES },
    responses: { 201: loginResponse },
    refusals: {
      rate_limited:
        'This address has presented too many wrong tokens, too many claims are under way, or too many passwords are waiting to be hashed.',
      setup_already_complete: 'An administrator exists.',
      conflict: 'An account with this email or username exists.',
    },
    example: {
      body: { email: 'alice@example.com', username: 'alice', password: 'a long walk by the sea' },
      response: { ...exampleSignedIn, user: { ...exampleSignedIn.user, role: 'admin' } },
    },
  }),
  'setup.complete': operation({
    id: 'setup.complete',
    method: 'POST',
    path: '/v1/setup/complete',
    auth: 'admin',
    summary: 'Finish or skip the set-up wizard',
    responses: { 200: setupStatus },
    example: { response: { admin_exists: true, setup_completed: true } },
  }),
} as const;
