import { batchReads } from '../../platform/database/index.ts';
import { NO_DIGEST, sameDigest, sha256Hex } from '../../platform/digest.ts';
import type { NodeCaller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { readNodeCredential } from '../enrollment/enrollment.ts';
import { spendToken } from '../enrollment/token-store.ts';
import { type NodeCredentials, nodeCredentials } from '../hosts/host-store.ts';

/** Length of node secrets and enrollment tokens, bytes. */
export const SECRET_BYTES = 32;
/** The text of a node secret: SECRET_BYTES in base64url. */
export const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/;

/** @returns the host; null for an unknown name or a wrong secret */
export type CheckNodeSecret = (nodeName: string, secret: string) => Promise<NodeCredentials | null>;

/**
 * Creates the check of node secrets. Both secrets are compared in every case, so the duration reveals nothing about the
 * name. The first use of a new secret from an enrollment replaces the old secret and spends the enrollment token.
 */
export function nodeSecretCheck(platform: Pick<Platform, 'database' | 'clock'>): CheckNodeSecret {
  const find = batchReads((names: readonly string[]) => nodeCredentials(platform.database.db, names));
  return async (nodeName, secret) => {
    const given = sha256Hex(secret);
    const host = await find(nodeName);
    const current = sameDigest(given, host?.secret_hash ?? NO_DIGEST);
    const next = sameDigest(given, host?.next_secret_hash ?? NO_DIGEST);
    if (host === undefined || !(current || next)) return null;
    if (next) await firstUse(platform, host, given);
    else if (host.next_secret_hash === null && host.enrollment_token_id !== null) {
      await firstUse(platform, host, given);
    }
    return host;
  };
}

async function firstUse(
  { database, clock }: Pick<Platform, 'database' | 'clock'>,
  host: NodeCredentials,
  secretHash: string,
): Promise<void> {
  const nowMs = clock.nowMs();
  await database.transaction(async (tx) => {
    await tx
      .updateTable('hosts')
      .set({ secret_hash: secretHash, next_secret_hash: null, enrollment_token_id: null })
      .where('id', '=', host.id)
      .where((row) => row.or([row('next_secret_hash', '=', secretHash), row('secret_hash', '=', secretHash)]))
      .execute();
    if (host.enrollment_token_id !== null) await spendToken(tx, host.enrollment_token_id, host.id, nowMs);
  });
}

/**
 * Authenticates an agent's HTTP call with the same headers as its socket; enrollment tokens are not accepted.
 * @param headers lower-case names
 * @returns null for any error; the caller answers all of them with the same 401
 */
export async function authenticateNode(
  check: CheckNodeSecret,
  headers: Record<string, string | string[] | undefined>,
): Promise<NodeCaller | null> {
  const credential = readNodeCredential(headers);
  if (credential?.kind !== 'secret') return null;
  const host = await check(credential.nodeName, credential.secret);
  return host === null ? null : { hostId: host.id, nodeName: host.node_name, bootId: credential.bootId };
}
