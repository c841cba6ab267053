import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { cutUtf8, INVISIBLE, isTerminal } from '@footlight/protocol';
import { MAX_GUEST_NAME_BYTES, MAX_GUESTS } from '@footlight/protocol/guests';
import type { Body, SessionGuest, Success } from '@footlight/protocol/rest';
import type { Agents } from '../../fleet/index.ts';
import { instant } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Fence } from '../../platform/leader.ts';
import { createWindowLimiter, type WindowLimit } from '../../platform/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import { lockGuestSharing, type Settings } from '../../settings/index.ts';
import { type SignalingToken, type SignalingTokens, sessionSubjects } from '../../signaling/index.ts';
import { judgeJoin, UNKNOWN_SESSION } from '../access/join-rules.ts';
import { refusalError } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';
import { loadSession } from '../store.ts';
import { GUESTS_FEATURE, judgeShare, planPlace } from './guest-rules.ts';
import {
  countLinks,
  endAllGuests,
  endExpired,
  endGuest,
  findGuest,
  type GuestRow,
  insertGuest,
  isHostOffline,
  loadGuestList,
  loadGuests,
  lockSessionOfGuests,
  markEndsAcked,
  nameGuest,
  sessionsWithEndsToSend,
  sessionsWithGuests,
} from './guest-store.ts';

/** Interval in which a list that its host did not acknowledge is sent again. Chosen, not measured. */
const RESEND_MS = 5 * SECOND_MS;
/** Lists sent again at the same time; the others wait for the next interval. */
const MAX_RESENT = 50;
/** A page needs a token for each connection, and waits longer after each failed one. */
const JOINS_PER_LINK: WindowLimit = { limit: 20, windowMs: MINUTE_MS };
/** Length of a link's secret, the same as of a signaling token: it cannot be guessed. */
const SECRET_BYTES = 32;
const SECRET = /^[0-9a-f]{64}$/;

export interface JoinedGuest {
  guest: Pick<GuestRow, 'id' | 'role' | 'pad_index' | 'expires_at'>;
  token: SignalingToken;
}

/**
 * The links of sessions and the guests who use them. Every method with a parameter `caller` checks that this account
 * owns the session.
 *
 * Each change is stored first and then sent to the host, as the whole list with a version. A host that was not
 * connected gets the list when it connects again. If a connected host does not acknowledge the end of a guest, the
 * leader sends the list again until the host does.
 *
 * When an administrator switches sharing off, all links end before the answer, and their hosts are told after it. The
 * leader repeats this while sharing is off, for a link that another replica made at the same moment.
 */
export interface Guests {
  list(caller: Caller, sessionId: string): Promise<Success<'guests.list'>>;
  /** @throws ApiError with the first refusal */
  create(
    caller: Caller,
    sessionId: string,
    request: Body<'guests.create'>,
  ): Promise<{ guest: SessionGuest; secret: string }>;
  /** @throws ApiError 403, 404; 503: the guest is removed, but the connected host has not acknowledged it yet */
  remove(caller: Caller, sessionId: string, guestId: string): Promise<void>;
  /** @throws ApiError 400, 404, 409, 429 */
  join(request: Body<'guests.join'>): Promise<JoinedGuest>;
  /** Sends the lists of these sessions to their host, which has connected again. Never rejects. */
  resend(hostId: string, sessionIds: readonly string[]): Promise<void>;
  /** Starts no further list of a change of the settings. */
  close(): void;
}

export function createGuests(
  { activity, bus, clock, database, leader, logger, random }: Platform,
  deps: { agents: Agents; settings: Pick<Settings, 'current' | 'follow'>; tokens: SignalingTokens },
): Guests {
  const { agents, settings, tokens } = deps;
  /** Limits joins from any number of addresses, because each one writes to the database. The key is a digest. */
  const joins = createWindowLimiter(JOINS_PER_LINK, clock);
  let isTelling = false;
  let isClosed = false;

  async function isAllowed(): Promise<boolean> {
    return (await settings.current()).guestSharingEnabled;
  }

  async function ownSession(caller: Caller, sessionId: string): Promise<SessionRow> {
    const row = await loadSession(database.db, sessionId);
    // The owner reaches the links of an ended session too.
    const refusal = judgeJoin(caller, row && { ...row, state: 'running', video_topology: 'stream_only' });
    if (refusal !== null || row === undefined) throw refusalError(refusal ?? UNKNOWN_SESSION);
    return row;
  }

  /**
   * Sends the list of a session to its host.
   * @returns acked: the host has applied the list; absent: the host does not have the session, or is not connected and
   *   gets the list when it connects; unknown: a host that may be connected may still have an older list
   */
  async function sendList(hostId: string, sessionId: string): Promise<'acked' | 'absent' | 'unknown'> {
    const loaded = await loadGuestList(database.db, sessionId, clock.nowMs());
    if (loaded === null) return 'acked';
    const command = { type: 'session_guests', session_id: sessionId, ...loaded.list } as const;
    const result = await agents.command(hostId, command);
    const hasNoSession = result.kind === 'refused' && result.code === 'no_such_session';
    if (result.kind === 'ok' || hasNoSession)
      await markEndsAcked(database.db, loaded.endsToAck, clock.nowMs());
    if (result.kind === 'ok') return 'acked';
    logger.info({ session_id: sessionId, host_id: hostId, result }, 'session.guests_not_sent');
    if (hasNoSession) return 'absent';
    if (result.kind !== 'not_connected' || result.sent) return 'unknown';
    // The host may be connected to a replica that cannot be reached.
    return (await isHostOffline(database.db, hostId)) ? 'absent' : 'unknown';
  }

  /** Like sendList, but never rejects. */
  async function resendList(hostId: string, sessionId: string): Promise<void> {
    try {
      await sendList(hostId, sessionId);
    } catch (error) {
      logger.error({ session_id: sessionId, host_id: hostId, err: error }, 'session.guests_failed');
    }
  }

  leader.register({
    id: 'sessions.guests',
    everyMs: RESEND_MS,
    needsBus: true,
    async run(fence) {
      // The sessions that it returns are among those with ends to send.
      await endIfOff(fence);
      // What a host has acknowledged is stored without the fence: it stays true, and every replica stores it.
      const waiting = await sessionsWithEndsToSend(database.db, MAX_RESENT);
      await Promise.all(waiting.map(({ id, host_id }) => resendList(host_id, id)));
    },
  });

  settings.follow({
    changing: async () => undefined,
    async changed() {
      try {
        const sessionIds = await endIfOff(null);
        // Not awaited, because the change is complete, and a silent host would delay its answer by seconds.
        void tellHosts(sessionIds);
      } catch (error) {
        logger.error({ err: error }, 'session.guests_failed');
      }
    },
  });

  /**
   * Ends the links of all sessions if sharing is switched off.
   * @param fence null: the replica that changed the settings does this
   * @returns the sessions in which a guest ended
   */
  async function endIfOff(fence: Fence | null): Promise<string[]> {
    if (await isAllowed()) return [];
    const ended = await database.transaction(async (tx) => {
      await fence?.check(tx);
      // The setting that was read above may be old, and links of a later switch-on must not end.
      return (await lockGuestSharing(tx)) ? [] : endAllGuests(tx, clock.nowMs());
    });
    for (const { id } of ended) bus.publish(sessionSubjects.guestEnded, id, {});
    return [...new Set(ended.map(({ session_id }) => session_id))];
  }

  /** Like tellHost, for several sessions. One call at a time: the leader sends what is left. Never rejects. */
  async function tellHosts(sessionIds: readonly string[]): Promise<void> {
    if (isTelling) return;
    isTelling = true;
    for (let at = 0; at < sessionIds.length && !isClosed; at += MAX_RESENT) {
      const told = await Promise.allSettled(sessionIds.slice(at, at + MAX_RESENT).map(tellHost));
      for (const one of told)
        if (one.status === 'rejected') logger.error({ err: one.reason }, 'session.guests_failed');
    }
    isTelling = false;
  }

  /** Sends the list of a session in which a guest ended. @returns false: a connected host may still have the guest */
  async function tellHost(sessionId: string): Promise<boolean> {
    const session = await loadSession(database.db, sessionId);
    if (session === undefined || session.host_id === null || isTerminal(session.state)) return true;
    return (await sendList(session.host_id, sessionId)) !== 'unknown';
  }

  /** @returns ended: false, the guest had already ended; isReached: no connected host has the guest any more */
  async function end({ id, session_id }: Pick<GuestRow, 'id' | 'session_id'>) {
    const ended = await endGuest(database.db, id, clock.nowMs());
    if (ended) bus.publish(sessionSubjects.guestEnded, id, {});
    return { ended, isReached: await tellHost(session_id) };
  }

  return {
    async list(caller, sessionId) {
      const session = await ownSession(caller, sessionId);
      const guests = await loadGuests(database.db, sessionId, clock.nowMs());
      const link =
        judgeShare(caller, session) === null && session.host_id !== null && (await isAllowed())
          ? // The owner sees and removes guests also while the host cannot be reached.
            await agents.link(session.host_id).catch(() => null)
          : null;
      return {
        guests: guests.map(guestRecord),
        can_share: link?.features.includes(GUESTS_FEATURE) ?? false,
        max_guests: MAX_GUESTS,
      };
    },

    async create(caller, sessionId, { role, minutes }) {
      if (!(await isAllowed())) throw new ApiError('sharing_disabled');
      const session = await loadSession(database.db, sessionId);
      const refusal = judgeShare(caller, session);
      if (refusal !== null || session === undefined || session.host_id === null)
        throw refusalError(refusal ?? UNKNOWN_SESSION);
      const link = await agents.link(session.host_id);
      if (link === null) throw new ApiError('agent_not_connected');
      if (!link.features.includes(GUESTS_FEATURE)) throw new ApiError('sharing_unsupported');
      const secret = random.bytes(SECRET_BYTES).toString('hex');
      const nowMs = clock.nowMs();
      const fields = {
        id: random.uuid(),
        session_id: sessionId,
        role,
        name: null,
        created_at: nowMs,
        expires_at: nowMs + minutes * MINUTE_MS,
        ended_at: null,
        end_acked_at: null,
        secret_hash: sha256Hex(secret),
      };
      const row = await database.transaction(async (tx) => {
        if (!(await lockSessionOfGuests(tx, sessionId))) throw refusalError(UNKNOWN_SESSION);
        await endExpired(tx, sessionId, nowMs);
        const place = planPlace(
          role,
          await loadGuests(tx, sessionId, nowMs),
          await countLinks(tx, sessionId),
        );
        if ('refusal' in place) throw refusalError(place.refusal);
        await insertGuest(tx, { ...fields, ...place });
        return { ...fields, ...place };
      });
      if ((await sendList(session.host_id, sessionId)) !== 'acked') {
        // A link that the host does not know would not work.
        await end(row);
        throw new ApiError('agent_not_connected');
      }
      await activity.record(caller.userId, 'session.shared', sessionId, { guest_id: row.id, role, minutes });
      return { guest: guestRecord(row), secret };
    },

    async remove(caller, sessionId, guestId) {
      await ownSession(caller, sessionId);
      const guest = await findGuest(database.db, sessionId, guestId);
      if (guest === undefined) throw new ApiError('not_found', { message: 'The session has no such guest.' });
      const { ended, isReached } = await end(guest);
      if (ended)
        await activity.record(caller.userId, 'session.guest_removed', sessionId, { guest_id: guestId });
      if (!isReached)
        throw new ApiError('agent_not_connected', {
          message: 'The link is ended, but the host did not confirm that the guest is disconnected.',
        });
    },

    async join({ secret, name }) {
      const visible = name.replaceAll(/\s/g, ' ').replaceAll(new RegExp(INVISIBLE, 'gu'), '');
      const shown = cutUtf8(visible.replaceAll(/ +/g, ' ').trim(), MAX_GUEST_NAME_BYTES);
      if (shown === '') throw invalid('name: must not be blank');
      if (!(await isAllowed())) throw new ApiError('sharing_disabled');
      // The message of a wrong secret and of an ended link is the same, so that a guess learns nothing.
      if (!SECRET.test(secret)) throw new ApiError('guest_link_invalid');
      const secretHash = sha256Hex(secret);
      joins.take(secretHash);
      const guest = await nameGuest(database.db, secretHash, shown, clock.nowMs());
      if (guest === undefined) throw new ApiError('guest_link_invalid');
      logger.info(
        { session_id: guest.session_id, guest_id: guest.id, role: guest.role },
        'session.guest_joins',
      );
      return { guest, token: await tokens.mintForGuest(database.db, guest.id) };
    },

    async resend(hostId, sessionIds) {
      if (sessionIds.length === 0) return;
      try {
        for (const id of await sessionsWithGuests(database.db, sessionIds)) await resendList(hostId, id);
      } catch (error) {
        logger.error({ host_id: hostId, err: error }, 'session.guests_failed');
      }
    },

    close() {
      isClosed = true;
    },
  };
}

function guestRecord({
  id,
  role,
  pad_index,
  name,
  created_at,
  expires_at,
}: Omit<GuestRow, 'slot'>): SessionGuest {
  return { id, role, pad_index, name, created_at: instant(created_at), expires_at: instant(expires_at) };
}
