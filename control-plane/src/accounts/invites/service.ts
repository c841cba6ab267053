import type { Body, Invite, MintedInvite } from '@footlight/protocol/rest';
import { instant, instantOrNull } from '../../platform/database/codec.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { mintToken } from '../tokens/tokens.ts';
import { type InviteRow, insertInvite, listInvites, revokeInvite } from './store.ts';

/** Leading hex characters of a code. They identify an invite in lists, but cannot redeem it. */
const PREFIX_LENGTH = 8;

/** Invites: codes that people need to register while registration is by invite only. */
export interface Invites {
  /** Newest first. @param state absent: all. @throws ApiError invalid_state */
  list(state: unknown): Promise<Invite[]>;
  /** Creates an invite. Only this answer contains its code. @throws ApiError 400 for an expiry in the past */
  mint(actor: Caller, body: Body<'invites.create'>): Promise<MintedInvite>;
  /** Only the first revocation has an effect; an unknown id is no error. */
  revoke(actor: Caller, id: string): Promise<void>;
}

export function createInvites(platform: Platform): Invites {
  const { activity, clock, config, database, random } = platform;

  return {
    async list(state = 'all') {
      if (state !== 'all' && state !== 'pending')
        throw new ApiError('invalid_state', {
          message: `state: expected all or pending; it is ${JSON.stringify(String(state).slice(0, 40))}`,
        });
      const rows = await listInvites(database.db, state === 'pending' ? clock.nowMs() : null);
      return rows.map(toInvite);
    },

    async mint(actor, body) {
      const nowMs = clock.nowMs();
      const expiresAtMs = body.expires_at ?? null;
      if (expiresAtMs !== null && expiresAtMs <= nowMs) throw invalid('expires_at: must be in the future');
      const code = mintToken(random);
      const invite = {
        id: random.uuid(),
        code_hash: sha256Hex(code),
        role: body.role ?? 'user',
        max_uses: body.max_uses ?? 1,
        used_count: 0,
        expires_at: expiresAtMs,
        revoked_at: null,
        note: body.note || null,
        created_by_user_id: actor.userId,
        created_at: nowMs,
      };
      await insertInvite(database.db, invite);
      const { id, role, max_uses, used_count } = invite;
      const expires_at = instantOrNull(expiresAtMs);
      await activity.record(actor.userId, 'invite.minted', id, {
        role,
        max_uses,
        ...(expires_at !== null && { expires_at }),
      });
      const base = config.http.publicBaseUrl?.href.replace(/\/+$/, '');
      return {
        id,
        code,
        ...(base !== undefined && { invite_url: `${base}/register?invite=${code}` }),
        role,
        max_uses,
        used_count,
        expires_at,
        created_at: instant(nowMs),
      };
    },

    async revoke(actor, id) {
      if (await revokeInvite(database.db, id, clock.nowMs()))
        await activity.record(actor.userId, 'invite.revoked', id);
    },
  };
}

function toInvite(row: InviteRow): Invite {
  return {
    id: row.id,
    code_prefix: row.code_hash.slice(0, PREFIX_LENGTH),
    role: row.role,
    max_uses: row.max_uses,
    used_count: row.used_count,
    expires_at: instantOrNull(row.expires_at),
    revoked_at: instantOrNull(row.revoked_at),
    note: row.note,
    created_at: instant(row.created_at),
    created_by_user_id: row.created_by_user_id,
    created_by_username: row.created_by_username,
  };
}
