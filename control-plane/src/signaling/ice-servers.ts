import { createHmac } from 'node:crypto';
import { SECOND_MS } from '@footlight/platform';
import type { IceServer } from '@footlight/protocol/signal';
import type { Config } from '../platform/config/config.ts';

/** ICE servers for one viewer connection. */
export interface MintedIceServers {
  iceServers: IceServer[];
  /** Seconds until the credentials of the TURN servers expire; null: they do not expire. */
  ttlSecs: number | null;
}

/**
 * Credentials of a TURN server for one holder. Pure.
 * @param secret the secret that the control plane shares with the TURN server
 * @param holderId id of the session, or of the guest: the server counts the relays of each id (coturn's option
 *   user-quota), so a guest cannot use up those of the owner
 * @param expiresAtSecs Unix time in seconds; afterwards the server accepts no new allocations
 * @returns username with expiry and id, and base64(HMAC-SHA1(secret, username))
 * Source: draft-uberti-behave-turn-rest-00, section 2.2; coturn's option use-auth-secret.
 */
export function turnCredentials(
  secret: string,
  holderId: string,
  expiresAtSecs: number,
): { username: string; credential: string } {
  const username = `${expiresAtSecs}:${holderId}`;
  return { username, credential: createHmac('sha1', secret).update(username).digest('base64') };
}

/**
 * The TURN servers with credentials for this holder, followed by the configured ICE servers. Pure.
 * @param config iceServers, the TURN servers with their secret, and graceSecs, the lifetime of the credentials: a
 *   session without a connection to its host ends after the same time
 * @param endsAtMs end of a guest's access, epoch ms, after which the credentials must not be valid; null: no end
 */
export function mintIceServers(
  config: Pick<Config['sessions'], 'iceServers' | 'turn' | 'graceSecs'>,
  holderId: string,
  nowMs: number,
  endsAtMs: number | null = null,
): MintedIceServers {
  const others: IceServer[] = config.iceServers.map((server) => ({ ...server, urls: [...server.urls] }));
  const { turn, graceSecs } = config;
  if (turn === null) return { iceServers: others, ttlSecs: null };
  const leftSecs = endsAtMs === null ? graceSecs : Math.max(0, Math.floor((endsAtMs - nowMs) / SECOND_MS));
  const ttlSecs = Math.min(graceSecs, leftSecs);
  const expiresAtSecs = Math.floor(nowMs / SECOND_MS) + ttlSecs;
  // First, because a host uses only the first eight addresses.
  const minted = { urls: [...turn.urls], ...turnCredentials(turn.secret, holderId, expiresAtSecs) };
  return { iceServers: [minted, ...others], ttlSecs };
}
