import { z } from 'zod';
import { int32, tolerantBody } from '../atoms.ts';
import { operation } from '../operation.ts';
import { loginResponse, role, user } from './accounts.ts';

/** Largest body, enough for two short fields. */
const BODY_BYTES = 4 * 1024;

/** Answer to a developer's program that was signed in with a temporary account. */
export const devSession = loginResponse
  .extend({
    expires_at: loginResponse.shape.expires_at.describe('When the token and the account itself end.'),
    user: user.describe('The account, made for this session.'),
    storage_keys: z
      .object({
        'service.auth.token': z.string().describe('The token.'),
        'service.auth.expires_at': z.string().describe('Its expiry.'),
        'service.auth.user': z.string().describe('The account as JSON text.'),
      })
      .describe("What the web app keeps in the browser's local storage while somebody is signed in."),
  })
  .meta({ id: 'DevSession', description: 'A fresh access token and the account that was made for it.' });
export type DevSession = z.output<typeof devSession>;

const sessionBody = tolerantBody({
  role: role.nullish().describe('Role of the account; null: user.'),
  ttl_seconds: int32(60, 28_800).nullish().describe('Seconds until token and account end; null: 1800.'),
});

const exampleUser = {
  id: '6f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b',
  email: 'agent-6f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b@dev.invalid',
  username: 'agent-6f1a2b3c-0badcafe',
  role: 'user',
  created_at: '2026-06-02T12:00:00.000Z',
};
const exampleToken = 'kQ3v9sYc1mZ7xT5bN0aLrJ8uEwHf2dPgVo6iXy4qKzM';
const exampleExpiry = '2026-06-02T12:10:00.000Z';

export const devOperations = {
  'dev.agentSession': operation({
    id: 'dev.agentSession',
    method: 'POST',
    path: '/v1/dev/agent-session',
    auth: 'dev-key',
    onlyWith: 'SERVICE_DEV_AGENT_AUTH',
    summary: 'Sign a program in as a new account that expires',
    body: { schema: sessionBody, maxBytes: BODY_BYTES, optional: true, unknownKeys: 'ignored' },
    responses: { 200: devSession },
    example: {
      body: { role: 'user', ttl_seconds: 600 },
      response: {
        access_token: exampleToken,
        token_type: 'Bearer',
        expires_at: exampleExpiry,
        user: exampleUser,
        storage_keys: {
          'service.auth.token': exampleToken,
          'service.auth.expires_at': exampleExpiry,
          'service.auth.user': JSON.stringify(exampleUser),
        },
      },
    },
  }),
} as const;
