import { z } from 'zod';
import { deviceKey, loginResponse } from './accounts.ts';
import { body, string } from './atoms.ts';
import { operation } from './operation.ts';

/** How far the first-run set-up has come. */
export const setupStatus = z.object({ admin_exists: z.boolean(), setup_completed: z.boolean() });
export type SetupStatus = z.output<typeof setupStatus>;

const CLAIM_BODY_BYTES = 4 * 1024;

const claimBody = body({ email: string(), username: string(), password: string(), device_key: deviceKey });

export const setupOperations = {
  'setup.status': operation({
    id: 'setup.status',
    method: 'GET',
    path: '/v1/setup/status',
    auth: 'public',
    summary: 'Whether an administrator exists and the set-up was finished',
    responses: { 200: setupStatus },
  }),
  'setup.claim': operation({
    id: 'setup.claim',
    method: 'POST',
    path: '/v1/setup/claim',
    auth: 'setup-token',
    summary: 'Create the first administrator and sign in',
    body: { schema: claimBody, maxBytes: CLAIM_BODY_BYTES },
    responses: { 201: loginResponse },
    refusals: { rate_limited: '', setup_already_complete: '', conflict: '' },
  }),
  'setup.complete': operation({
    id: 'setup.complete',
    method: 'POST',
    path: '/v1/setup/complete',
    auth: 'admin',
    summary: 'Finish or skip the set-up wizard',
    responses: { 200: setupStatus },
  }),
} as const;
