import { z } from 'zod';
import { uuid } from '../common.ts';
import {
  GUEST_ROLES,
  MAX_GUEST_MINUTES,
  MAX_GUEST_NAME_BYTES,
  MAX_GUESTS,
  MIN_GUEST_MINUTES,
} from '../guests.ts';
import { body, dateTime, int32, madeId, notBlank, string } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';
import { signaling } from './sessions.ts';

const role = z
  .enum(GUEST_ROLES)
  .describe(
    'What the guest may do. `watch`: see and hear. `gamepad`: also use one gamepad. `full`: also use keyboard, pointer, touch and gamepads.',
  )
  .meta({ id: 'GuestRole' });
const padIndex = z
  .int()
  .nullable()
  .describe('Index of the only gamepad that the guest may use, from 0; null for other roles.');

/** A link for one guest. The guest has joined if there is a name. */
export const sessionGuest = z
  .object({
    id: madeId.describe('Id of the guest and of the link.'),
    role,
    pad_index: padIndex,
    name: z
      .string()
      .nullable()
      .describe('Name that the guest chose when the link was opened last; null: nobody has opened it.'),
    created_at: dateTime.describe('When the link was made.'),
    expires_at: dateTime.describe('When the link and the access of the guest end.'),
  })
  .meta({ id: 'SessionGuest', description: 'A link with which one guest can join a session.' });
export type SessionGuest = z.output<typeof sessionGuest>;

const createBody = body({
  role,
  minutes: int32(MIN_GUEST_MINUTES, MAX_GUEST_MINUTES).describe(
    'Minutes for which the link is valid. It also ends with the session.',
  ),
});

const joinBody = body({
  secret: string({ max: 128 }).describe('The secret of the link: the part after `#`.'),
  name: notBlank(MAX_GUEST_NAME_BYTES).describe(
    `Name that the owner of the session sees, at most ${MAX_GUEST_NAME_BYTES} bytes. Invisible characters are removed.`,
  ),
});

const example = {
  id: exampleIds.guest,
  role: 'gamepad' as const,
  pad_index: 1,
  name: 'Ada',
  created_at: '2026-11-20T10:05:00.000Z',
  expires_at: '2026-11-20T11:05:00.000Z',
};
const exampleSecret = '4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce';
const NOT_YOURS =
  'The session does not belong to the caller. Administrators can share only their own sessions too.';
const GONE = 'There is no such session; other callers than administrators get `forbidden`.';
const sessionParams = z.object({ id: uuid.describe('Id of the session.') });
const guestParams = sessionParams.extend({ guest_id: uuid.describe('Id of the guest.') });

export const guestOperations = {
  'guests.list': operation({
    id: 'guests.list',
    method: 'GET',
    path: '/v1/sessions/{id}/guests',
    auth: 'user',
    summary: 'The links of a session that have not ended, to its owner only',
    description:
      'The host tells the page of the owner directly which guests are connected, by the control message `guests`.',
    params: sessionParams,
    responses: {
      200: z.object({
        guests: z.array(sessionGuest).describe('Oldest first.'),
        can_share: z
          .boolean()
          .describe('Another link can be made: an administrator allows it, and the host knows guests.'),
        max_guests: z.int().describe('Largest number of links at the same time.'),
      }),
    },
    refusals: { forbidden: NOT_YOURS, not_found: GONE },
    example: {
      params: { id: exampleIds.session },
      response: { guests: [example], can_share: true, max_guests: MAX_GUESTS },
    },
  }),
  'guests.create': operation({
    id: 'guests.create',
    method: 'POST',
    path: '/v1/sessions/{id}/guests',
    auth: 'user',
    summary: 'Make a link with which one guest can join a running session',
    description:
      'The link is `/join#SECRET` at the address of this server. The secret is shown this once and kept only as a digest. Browsers do not send the part after `#`, so it reaches no log.',
    params: sessionParams,
    body: { schema: createBody },
    responses: {
      201: z.object({
        guest: sessionGuest,
        secret: z.string().describe('The secret of the link. Only this answer contains it.'),
        url: z
          .string()
          .nullable()
          .describe(
            'The link at PUBLIC_BASE_URL, or at an address of the machine if the request came to a loopback address; null: the link is at the address that the caller used.',
          ),
      }),
    },
    refusals: {
      rate_limited: 'The caller asked for 60 links within ten minutes.',
      sharing_disabled: 'An administrator has switched sharing off.',
      forbidden: NOT_YOURS,
      not_found: GONE,
      conflict: 'The session is shown only on the display attached to its host.',
      session_not_running: 'The session does not run.',
      too_many_guests: `The session has ${MAX_GUESTS} links that have not ended, or had 64 in all.`,
      sharing_unsupported: 'The agent of the host is older than this function; update it.',
      agent_not_connected: 'The host of the session is not connected, or did not answer.',
    },
    example: {
      params: { id: exampleIds.session },
      body: { role: 'gamepad', minutes: 60 },
      response: {
        guest: { ...example, name: null },
        secret: exampleSecret,
        url: `https://play.example.org/join#${exampleSecret}`,
      },
    },
  }),
  'guests.remove': operation({
    id: 'guests.remove',
    method: 'DELETE',
    path: '/v1/sessions/{id}/guests/{guest_id}',
    auth: 'user',
    summary: 'Remove a guest and end the link; succeeds also if it had ended',
    description:
      'The guest is disconnected at once. If the host is not connected at the moment, it disconnects the guest as soon as it is.',
    params: guestParams,
    responses: { 204: null },
    refusals: {
      forbidden: NOT_YOURS,
      not_found: `${GONE} Or the session has no such guest.`,
      agent_not_connected:
        'The link is ended, but the connected host did not confirm that it disconnected the guest. It is told again every five seconds, and by a repeated request.',
    },
    example: { params: { id: exampleIds.session, guest_id: exampleIds.guest } },
  }),
  'guests.join': operation({
    id: 'guests.join',
    method: 'POST',
    path: '/v1/guests/join',
    auth: 'public',
    summary: 'Join a session as a guest, with the secret of a link',
    description:
      'Answers with a single-use token for the signaling socket; each further connection needs another one. A later join with the same link replaces the earlier guest.',
    body: { schema: joinBody },
    responses: {
      201: z.object({
        guest: z
          .object({ id: madeId.describe('Id of the guest.'), role, pad_index: padIndex })
          .describe('What the caller may do.'),
        expires_at: dateTime.describe('When the access ends.'),
        signaling,
      }),
    },
    refusals: {
      rate_limited:
        'This address has presented too many wrong secrets, or this address or link asks too often.',
      guest_link_invalid: 'There is no such link, or the link or its session has ended.',
      sharing_disabled: 'An administrator has switched sharing off.',
    },
    example: {
      body: { secret: exampleSecret, name: 'Ada' },
      response: {
        guest: { id: exampleIds.guest, role: 'gamepad', pad_index: 1 },
        expires_at: example.expires_at,
        signaling: {
          url: 'wss://stream.example.com/v1/signal',
          token: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
          expires_at: '2026-11-20T10:07:00.000Z',
          ice_servers: [{ urls: ['stun:stun.example.com:3478'] }],
        },
      },
    },
  }),
} as const;
