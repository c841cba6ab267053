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

/** Single-use tokens that give one page access to one session's signaling. Only their SHA-256 is stored. */
export interface SignalingTokens {
  /** Tokens are independent: a new one does not invalidate others. */
  mint(tx: Executor, sessionId: string): Promise<SignalingToken>;
  /** Creates one token for each session. */
  mintAll(tx: Executor, sessionIds: readonly string[]): Promise<Map<string, SignalingToken>>;
  /** @returns the token's session; null for an unknown, expired or used token, or if the person is disabled */
  consume(token: string): Promise<string | null>;
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

  return {
    async mint(tx, sessionId) {
      return (await mintAll(tx, [sessionId])).get(sessionId) as SignalingToken;
    },

    mintAll,

    async consume(token) {
      if (!TOKEN.test(token)) return null;
      // The delete claims the token: of concurrent uses only one deletes the row.
      const row = await database.db
        .deleteFrom('signaling_tokens')
        .where('token_hash', '=', sha256Hex(token))
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
      return row === undefined || row.expires_at <= clock.nowMs() ? null : row.session_id;
    },

    async sweep(tx) {
      await tx
        .deleteFrom('signaling_tokens')
        // Skip rows that are being deleted with their session.
        .where('token_hash', 'in', (eb) =>
          eb
            .selectFrom('signaling_tokens as old')
            .select('old.token_hash')
            .where('old.expires_at', '<=', clock.nowMs())
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .execute();
    },
  };
}
