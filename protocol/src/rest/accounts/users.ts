import { z } from 'zod';
import { dateTime, idParams, int32, page, pageQuery, searchText, tolerantBody } from '../atoms.ts';
import { entitlement, exampleEntitlement } from '../catalog/catalog.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';
import { role, signInMethods } from './accounts.ts';

/** An account in answers for administrators. */
export const adminUser = z
  .object({
    id: z.string().describe('Id of the account.'),
    email: z.string().describe('Trimmed and lowercased; unique.'),
    username: z.string().describe('Unique, case-sensitive.'),
    role: role.describe('What the account may do; read with every request.'),
    disabled: z.boolean().describe('True: nobody can sign in to the account, and its tokens open nothing.'),
    max_concurrent_sessions: z.int().describe('How many sessions may run at once; 0 blocks launching.'),
    created_at: dateTime.describe('When the account was made.'),
    last_seen_at: dateTime
      .nullable()
      .describe('When one of its devices last signed in or was measured; null without devices.'),
    sign_in_methods: signInMethods,
    active_session_count: z.int().describe('Sessions that have not ended, those that are stopping included.'),
  })
  .meta({ id: 'AdminUser', description: 'An account as administrators see it.' });
export type AdminUser = z.output<typeof adminUser>;

/** Every text is accepted: with an unreadable cursor, the list starts at the first page. */
const anyCursor = z
  .unknown()
  .optional()
  .transform((raw) => (typeof raw === 'string' ? raw : undefined))
  .meta({
    type: 'string',
    description: '`next_cursor` of the page before; one that cannot be read starts at the first page.',
  });

const updateBody = tolerantBody({
  role: role.nullish().describe('The new role; null leaves it.'),
  disabled: z
    .boolean()
    .nullish()
    .describe(
      'Whether the account is disabled; null leaves it. Running sessions go on unless `end_sessions` is true.',
    ),
  end_sessions: z
    .boolean()
    .nullish()
    .describe(
      'With `disabled` true: the sessions of the account are asked to stop after the change, best effort. Otherwise ignored.',
    ),
  max_concurrent_sessions: int32(0)
    .nullish()
    .describe('The new number of sessions at once; null leaves it. Running sessions above it go on.'),
});

const notFound = 'No account has this id.';
const exampleUser = {
  id: exampleIds.alice,
  email: 'alice@example.com',
  username: 'alice',
  role: 'user',
  disabled: false,
  max_concurrent_sessions: 3,
  created_at: '2026-06-02T12:00:00.000Z',
  last_seen_at: '2026-06-09T18:30:00.000Z',
  sign_in_methods: ['password', 'oidc'],
  active_session_count: 1,
};

export const userOperations = {
  'users.list': operation({
    id: 'users.list',
    method: 'GET',
    path: '/v1/users',
    auth: 'admin',
    summary: 'Accounts, newest first',
    query: pageQuery(50).extend({
      cursor: anyCursor,
      q: searchText.describe('Part of an email or a username, whatever its case; blank finds everybody.'),
    }),
    responses: { 200: page(adminUser) },
    example: {
      query: { q: 'ali', limit: '20' },
      response: { items: [exampleUser], next_cursor: null },
    },
  }),
  'users.update': operation({
    id: 'users.update',
    method: 'PATCH',
    path: '/v1/users/{id}',
    auth: 'admin',
    summary: 'Change what an account may do; all fields or none',
    params: idParams,
    body: { schema: updateBody, unknownKeys: 'ignored' },
    responses: { 200: z.object({ user: adminUser }) },
    refusals: {
      not_found: notFound,
      conflict: 'No enabled administrator would be left.',
    },
    example: {
      params: { id: exampleIds.alice },
      body: { max_concurrent_sessions: 5 },
      response: { user: { ...exampleUser, max_concurrent_sessions: 5 } },
    },
  }),
  'users.passwordReset': operation({
    id: 'users.passwordReset',
    method: 'POST',
    path: '/v1/users/{id}/password-reset',
    auth: 'admin',
    summary: 'Make a link with which the owner of an account sets a new password',
    description:
      'It works once, replaces an earlier one, and becomes invalid with a new password or when the account is disabled. Only this answer contains it.',
    params: idParams,
    responses: {
      201: z.object({
        url: z
          .string()
          .describe(
            'The link: PUBLIC_BASE_URL, else the address of this request, and where that is a loopback address the address of the machine.',
          ),
        address_source: z
          .enum(['configured', 'request', 'machine'])
          .describe('Where the address of the link comes from.'),
        expires_at: dateTime.describe('When it ends by itself.'),
      }),
    },
    refusals: {
      not_found: notFound,
      validation_failed: 'The address of this service is neither configured nor in the Host header.',
    },
    example: {
      params: { id: exampleIds.alice },
      response: {
        url: 'https://stream.example.com/reset?token=q2Zx0b1Vb3m7Kf8dT6nWJr4cYp9sLhGeAuXiMoQvN5E',
        address_source: 'configured',
        expires_at: '2026-06-10T18:30:00.000Z',
      },
    },
  }),
  'users.delete': operation({
    id: 'users.delete',
    method: 'DELETE',
    path: '/v1/users/{id}',
    auth: 'admin',
    summary: 'Delete an account and everything it owns; its homes are deleted after their grace',
    params: idParams,
    responses: { 204: null },
    refusals: {
      conflict:
        'The account is your own; or, after the look-up, it is the last enabled administrator, or one of its sessions has not ended.',
      not_found: notFound,
    },
    example: { params: { id: exampleIds.alice } },
  }),
  'users.entitlements': operation({
    id: 'users.entitlements',
    method: 'GET',
    path: '/v1/admin/users/{id}/entitlements',
    auth: 'admin',
    summary: 'Apps granted to one account by name, in the order of their names',
    params: idParams,
    responses: {
      200: z.object({
        items: z.array(entitlement).describe('The entitlements, by the names of their apps.'),
      }),
    },
    refusals: { not_found: notFound },
    example: {
      params: { id: exampleIds.alice },
      response: {
        items: [exampleEntitlement],
      },
    },
  }),
} as const;
