import { SECOND_MS } from '@footlight/platform';
import type { EnrollmentToken } from '@footlight/protocol/rest';
import { instant } from '../../platform/database/codec.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { ApiError } from '../../platform/errors.ts';
import { instanceAddress } from '../../platform/http/origin/instance-address.ts';
import type { Platform } from '../../platform/platform.ts';
import { tokenView } from '../hosts/host-view.ts';
import { installCommand, type PinnedCertificate } from '../install/install-command.ts';
import { SECRET_BYTES } from '../upgrade/credentials.ts';
import { deleteToken, insertToken, listTokens } from './token-store.ts';

export interface TokenRequest {
  note?: string | undefined;
  ttl_seconds: number;
  /** The only host name that the token can enroll; the token can also take over the existing record of that name. */
  node_name?: string | undefined;
}

export interface MintedEnrollment {
  id: string;
  /** The token text. No other answer contains it. */
  token: string;
  expires_at: string;
  /** The shell command to run on the new host. */
  command: string;
}

/** How the administrator's request reached this service. The new host uses the same address. */
export interface MintedFrom {
  host: string | undefined;
  /** The request used this service's own TLS, without a proxy. */
  ownTls: boolean;
}

/** Manages enrollment tokens. */
export class TokenAdmin {
  readonly #platform: Platform;
  readonly #certificate: () => PinnedCertificate | null;

  /** @param certificate this service's certificate at the moment; null: the service offers no TLS */
  constructor(platform: Platform, certificate: () => PinnedCertificate | null) {
    this.#platform = platform;
    this.#certificate = certificate;
  }

  /** @throws ApiError 400 when the address of this service is unknown */
  async create(request: TokenRequest, actorUserId: string, from: MintedFrom): Promise<MintedEnrollment> {
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
    await this.#platform.activity.record(actorUserId, 'enrollment_token.create', id, {
      id,
      node_name: nodeName,
    });
    const pin = from.ownTls ? this.#certificate() : null;
    const command = installCommand({ address, token, nodeName, pin });
    return { id, token, expires_at: instant(expiresAt), command };
  }

  /** Newest first. */
  async list(): Promise<EnrollmentToken[]> {
    return (await listTokens(this.#platform.database.db)).map(tokenView);
  }

  /** Deletes a token. Hosts that enrolled with it stay. @throws ApiError 404 */
  async delete(id: string, actorUserId: string): Promise<void> {
    const deleted = await deleteToken(this.#platform.database.db, id);
    if (deleted === undefined) throw new ApiError('not_found', { message: 'There is no such token.' });
    await this.#platform.activity.record(actorUserId, 'enrollment_token.delete', id, {
      id,
      node_name: deleted.node_name,
    });
  }
}
