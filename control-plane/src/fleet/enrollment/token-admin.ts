import { SECOND_MS } from '@footlight/platform';
import type { EnrollmentToken } from '@footlight/protocol/rest';
import { instant } from '../../platform/database/codec.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { tokenView } from '../hosts/host-view.ts';
import { installCommand, instanceAddress, type PinnedCertificate } from '../install/install-command.ts';
import { SECRET_BYTES } from '../upgrade/credentials.ts';
import { deleteToken, insertToken, listTokens } from './token-store.ts';

export interface TokenRequest {
  note?: string | undefined;
  ttl_seconds: number;
  /** The only name the token enrolls; it may then take over that name's record. */
  node_name?: string | undefined;
}

export interface MintedToken {
  id: string;
  /** Here and nowhere else. */
  token: string;
  expires_at: string;
  /** The line to run on the new host. */
  command: string;
}

/** How the administrator who mints a token reached this service: the way that the new host will take. */
export interface MintedFrom {
  host: string | undefined;
  /** Over this service's own TLS, with no proxy in between. */
  ownTls: boolean;
}

/** Tokens with which an administrator lets hosts in. */
export class TokenAdmin {
  readonly #platform: Platform;
  readonly #certificate: PinnedCertificate | null;

  /** @param certificate the one that this service answers with; null: it offers no TLS */
  constructor(platform: Platform, certificate: PinnedCertificate | null) {
    this.#platform = platform;
    this.#certificate = certificate;
  }

  /** @throws ApiError 400 when nothing says where new hosts reach this service */
  async create(request: TokenRequest, actorUserId: string, from: MintedFrom): Promise<MintedToken> {
    const { clock, config, database, random } = this.#platform;
    const address = instanceAddress({
      publicBaseUrl: config.http.publicBaseUrl,
      host: from.host,
      tls: config.tls !== null,
    });
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
    const pin = from.ownTls ? this.#certificate : null;
    const command = installCommand({ address, token, nodeName, pin });
    return { id, token, expires_at: instant(expiresAt), command };
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
