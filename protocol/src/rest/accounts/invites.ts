import { z } from 'zod';
import { body, dateTime, idParams, int32, string, zonedDateTime } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';
import { role } from './accounts.ts';

/** Enough for a paragraph. Chosen, not measured. */
const MAX_NOTE_CHARACTERS = 1000;

const inviteFields = {
  id: z.string().describe('Id of the invite.'),
  role: role.describe('Role of the accounts that are made with it.'),
  max_uses: z.int().describe('How many accounts may be made with it.'),
  used_count: z.int().describe('How many accounts have been made with it.'),
  expires_at: dateTime.nullable().describe('When it expires; null: never.'),
  created_at: dateTime.describe('When it was minted.'),
};

/** An invite in lists, without its code. */
export const invite = z
  .object({
    ...inviteFields,
    code_prefix: z
      .string()
      .describe('First eight hex characters of the stored hash of the code, to tell invites apart.'),
    revoked_at: dateTime.nullable().describe('When it was withdrawn; null: it was not.'),
    note: z.string().nullable().describe('What the administrator wrote about it; null: nothing.'),
    created_by_user_id: z.string().nullable().describe('Who minted it; null: not known.'),
    created_by_username: z.string().nullable().describe('Name of that account; null: not known.'),
  })
  .meta({ id: 'Invite', description: 'An invite. Its code cannot be read again.' });
export type Invite = z.output<typeof invite>;

/** A new invite with its code. Only this answer contains the code. */
export const mintedInvite = z
  .object({
    ...inviteFields,
    code: z.string().describe('What the invited person registers with. Shown only here.'),
    invite_url: z
      .string()
      .optional()
      .describe('Link to the registration page with the code; left out while PUBLIC_BASE_URL is unset.'),
  })
  .meta({ id: 'MintedInvite', description: 'A new invite with its code.' });
export type MintedInvite = z.output<typeof mintedInvite>;

const mintBody = body({
  role: role.nullish().describe('Role of the accounts that are made with it; null: user.'),
  max_uses: int32(1).nullish().describe('How many accounts may be made with it; null: 1.'),
  expires_at: zonedDateTime.nullish().describe('A time in the future; null: it does not expire.'),
  note: string({ max: MAX_NOTE_CHARACTERS }).nullish().describe('For administrators; null or empty: none.'),
});

const exampleInvite = {
  id: exampleIds.invite,
  role: 'user',
  max_uses: 5,
  used_count: 0,
  expires_at: '2026-07-01T00:00:00.000Z',
  created_at: '2026-06-02T12:00:00.000Z',
};

export const inviteOperations = {
  'invites.list': operation({
    id: 'invites.list',
    method: 'GET',
    path: '/v1/admin/invites',
    auth: 'admin',
    summary: 'Invites, newest first',
    query: z.object({
      // The schema accepts any value, because the handler refuses invalid ones with a separate error code.
      state: z
        .unknown()
        .optional()
        .meta({
          type: 'string',
          enum: ['all', 'pending'],
          default: 'all',
          description: 'all, or pending: those that can be used right now.',
        }),
    }),
    responses: { 200: z.object({ invites: z.array(invite).describe('The invites; there are no pages.') }) },
    refusals: { invalid_state: '`state` is neither all nor pending.' },
    example: {
      query: { state: 'pending' },
      response: {
        invites: [
          {
            ...exampleInvite,
            code_prefix: '9f86d081',
            revoked_at: null,
            note: 'for the chess club',
            created_by_user_id: exampleIds.admin,
            created_by_username: 'admin',
          },
        ],
      },
    },
  }),
  'invites.create': operation({
    id: 'invites.create',
    method: 'POST',
    path: '/v1/admin/invites',
    auth: 'admin',
    summary: 'Mint an invite',
    body: { schema: mintBody, optional: true },
    responses: { 201: z.object({ invite: mintedInvite }) },
    example: {
      body: { max_uses: 5, expires_at: '2026-07-01T02:00:00+02:00', note: 'for the chess club' },
      response: {
        invite: {
          ...exampleInvite,
          code: 'kQ3v9sYc1mZ7xT5bN0aLrJ8uEwHf2dPgVo6iXy4qKzM',
          invite_url: 'https://play.example.org/register?invite=kQ3v9sYc1mZ7xT5bN0aLrJ8uEwHf2dPgVo6iXy4qKzM',
        },
      },
    },
  }),
  'invites.revoke': operation({
    id: 'invites.revoke',
    method: 'DELETE',
    path: '/v1/admin/invites/{id}',
    auth: 'admin',
    summary: 'Withdraw an invite at once; no error for an unknown or already withdrawn one',
    params: idParams,
    responses: { 204: null },
    example: { params: { id: exampleIds.invite } },
  }),
} as const;
