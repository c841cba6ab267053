import type { EnrollmentToken } from '@footlight/protocol/rest';
import { SECOND_MS } from '../platform/clock.ts';
import { instant } from '../platform/database/codec.ts';
import { sha256Hex } from '../platform/digest.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { SECRET_BYTES } from './credentials.ts';
import { tokenView } from './host-view.ts';
import { deleteToken, insertToken, listTokens } from './token-store.ts';

export interface TokenRequest {
  note?: string | undefined;
  ttl_seconds: number;
  /** The only name the token enrols; it may then take over that name's record. */
  node_name?: string | undefined;
}

export interface MintedToken {
  id: string;
  /** Here and nowhere else. */
  token: string;
  expires_at: string;
  /** One line for the new host; "" while this release has nothing to install there. */
  command: string;
}

/** Tokens with which an administrator lets hosts in. */
export class TokenAdmin {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async create(request: TokenRequest, actorUserId: string): Promise<MintedToken> {
    const { clock, database, random } = this.#platform;
    const token = random.bytes(SECRET_BYTES).toString('base64url');
    const id = random.uuid();
    const nowMs = clock.nowMs();
    const expiresAt = nowMs + request.ttl_seconds * SECOND_MS;
    const nodeName = request.node_name ?? null;
    await insertToken(database.db, {
      id,
      token_hash: sha256Hex(token),
      note: request.note ?? '',
      node_name: nodeName,
      bound_node_name: null,
      bound_enroll_id: null,
      host_id: null,
      created_by: actorUserId,
      created_at: nowMs,
      expires_at: expiresAt,
      used_at: null,
    });
    await this.#audit(actorUserId, 'enrollment_token.create', id, nodeName);
    return { id, token, expires_at: instant(expiresAt), command: '' };
  }

  /** Newest first. */
  async list(): Promise<EnrollmentToken[]> {
    return (await listTokens(this.#platform.database.db)).map(tokenView);
  }

  /** A host that enrolled with it stays. @throws ApiError 404 */
  async delete(id: string, actorUserId: string): Promise<void> {
    const deleted = await deleteToken(this.#platform.database.db, id);
    if (deleted === undefined) throw new ApiError('not_found', { message: 'There is no such token.' });
    await this.#audit(actorUserId, 'enrollment_token.delete', id, deleted.node_name);
  }

  #audit(actorUserId: string, action: string, id: string, nodeName: string | null): Promise<void> {
    return this.#platform.activity.record({
      actorUserId,
      action,
      targetType: 'enrollment_token',
      targetId: id,
      details: { id, node_name: nodeName },
    });
  }
}
