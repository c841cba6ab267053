import type { Executor, Tx } from '../platform/database/index.ts';
import { sha256Hex } from '../platform/digest.ts';
import type { Platform } from '../platform/platform.ts';

const TOKEN_BYTES = 32;
const SIGNALING_TOKEN_TTL_MS = 60_000;
const TOKEN = /^[0-9a-f]{64}$/;

export interface SignalingToken {
  /** Token in hex; only this answer contains it. */
  token: string;
  /** Time when the token expires, epoch ms. */
  expiresAt: number;
}

/** The guest whose page presents a token. */
export interface AdmittedGuest {
  id: string;
  slot: number;
  name: string;
  /** Time when the access ends, epoch ms. */
  expiresAt: number;
}

/** The session that a token gives access to. */
export interface Admission {
  sessionId: string;
  /** null: the token is the owner's. */
  guest: AdmittedGuest | null;
}

/** Single-use tokens that give one page access to one session's signaling. Only their SHA-256 is stored. */
export interface SignalingTokens {
  /** Tokens are independent: a new one does not invalidate others. */
  mint(tx: Executor, sessionId: string): Promise<SignalingToken>;
  /** Creates one token for each session. */
  mintAll(tx: Executor, sessionIds: readonly string[]): Promise<Map<string, SignalingToken>>;
  /** Creates a token for a guest, whose link must be valid. */
  mintForGuest(tx: Executor, guestId: string): Promise<SignalingToken>;
  /**
   * @returns null for an unknown, expired or used token, if the owner is disabled, or if the guest's access has ended
   */
  consume(token: string): Promise<Admission | null>;
  /** Whether a guest's access has neither ended nor expired. */
  isAdmitted(guestId: string): Promise<boolean>;
  /** Deletes expired tokens. */
  sweep(tx: Tx): Promise<void>;
}

export function createSignalingTokens(
  platform: Pick<Platform, 'clock' | 'database' | 'random'>,
): SignalingTokens {
  const { clock, database, random } = platform;
  async function mintAll(tx: Executor, sessionIds: readonly string[]): Promise<Map<string, SignalingToken>> {
    const nowMs = clock.nowMs();
    const expiresAt = nowMs + SIGNALING_TOKEN_TTL_MS;
    const minted = new Map(
      sessionIds.map((id) => [id, { token: random.bytes(TOKEN_BYTES).toString('hex'), expiresAt }]),
    );
    const rows = [...minted].map(([session_id, { token }]) => ({
      token_hash: sha256Hex(token),
      session_id,
      expires_at: expiresAt,
      created_at: nowMs,
    }));
    if (rows.length > 0) await tx.insertInto('signaling_tokens').values(rows).execute();
    return minted;
  }

  /** The delete claims the token: of concurrent uses only one deletes the row. */
  async function consumeOwnToken(tokenHash: string): Promise<Admission | null> {
    const row = await database.db
      .deleteFrom('signaling_tokens')
      .where('token_hash', '=', tokenHash)
      // A token that was minted immediately before its person was disabled must not open a stream.
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('sessions')
            .innerJoin('users', 'users.id', 'sessions.user_id')
            .select('sessions.id')
            .whereRef('sessions.id', '=', 'signaling_tokens.session_id')
            .where('users.disabled_at', 'is', null),
        ),
      )
      .returning(['session_id', 'expires_at'])
      .executeTakeFirst();
    if (row === undefined || row.expires_at <= clock.nowMs()) return null;
    return { sessionId: row.session_id, guest: null };
  }

  async function consumeGuestToken(tokenHash: string): Promise<Admission | null> {
    const token = await database.db
      .deleteFrom('guest_tokens')
      .where('token_hash', '=', tokenHash)
      .returning(['guest_id', 'expires_at'])
      .executeTakeFirst();
    const nowMs = clock.nowMs();
    if (token === undefined || token.expires_at <= nowMs) return null;
    const guest = await admittedGuest(token.guest_id);
    return guest === null ? null : { sessionId: guest.session_id, guest };
  }

  async function admittedGuest(id: string): Promise<(AdmittedGuest & { session_id: string }) | null> {
    const row = await database.db
      .selectFrom('session_guests')
      .innerJoin('sessions', 'sessions.id', 'session_guests.session_id')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['session_guests.id', 'session_id', 'slot', 'name', 'session_guests.expires_at'])
      .where('session_guests.id', '=', id)
      .where('session_guests.ended_at', 'is', null)
      .where('session_guests.expires_at', '>', clock.nowMs())
      .where('users.disabled_at', 'is', null)
      .executeTakeFirst();
    if (row === undefined) return null;
    return { ...row, name: row.name ?? '', expiresAt: row.expires_at };
  }

  return {
    async mintForGuest(tx, guestId) {
      const nowMs = clock.nowMs();
      const token = random.bytes(TOKEN_BYTES).toString('hex');
      const expiresAt = nowMs + SIGNALING_TOKEN_TTL_MS;
      await tx
        .insertInto('guest_tokens')
        .values({
          token_hash: sha256Hex(token),
          guest_id: guestId,
          expires_at: expiresAt,
          created_at: nowMs,
        })
        .execute();
      return { token, expiresAt };
    },

    isAdmitted: async (guestId) => (await admittedGuest(guestId)) !== null,

    async mint(tx, sessionId) {
      return (await mintAll(tx, [sessionId])).get(sessionId) as SignalingToken;
    },

    mintAll,

    async consume(token) {
      if (!TOKEN.test(token)) return null;
      const tokenHash = sha256Hex(token);
      return (await consumeOwnToken(tokenHash)) ?? consumeGuestToken(tokenHash);
    },

    async sweep(tx) {
      const nowMs = clock.nowMs();
      await tx
        .deleteFrom('signaling_tokens')
        // Skip rows that are being deleted with their session.
        .where('token_hash', 'in', (eb) =>
          eb
            .selectFrom('signaling_tokens as old')
            .select('old.token_hash')
            .where('old.expires_at', '<=', nowMs)
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .execute();
      await tx
        .deleteFrom('guest_tokens')
        .where('token_hash', 'in', (eb) =>
          eb
            .selectFrom('guest_tokens as old')
            .select('old.token_hash')
            .where('old.expires_at', '<=', nowMs)
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .execute();
    },
  };
}
