/** When a certificate is ordered over ACME. Pure. */
import { X509Certificate } from 'node:crypto';
import { HOUR_MS, MINUTE_MS } from '@footlight/platform';
import type { Certificate } from './tls.ts';

/** Interval of the checks whether the certificate must be renewed. */
export const CHECK_EVERY_MS = 12 * HOUR_MS;
/**
 * Wait after the first failed order; it doubles up to CHECK_EVERY_MS. Let's Encrypt allows five failed validations of a
 * name per hour.
 */
const RETRY_MS = 15 * MINUTE_MS;

/**
 * Largest number of failed orders within FAILURES_WITHIN_MS, restarts included: one less than Let's Encrypt allows.
 * Source: Let's Encrypt, "Rate Limits", authorization failures per identifier per account.
 */
export const MAX_FAILURES = 4;
const FAILURES_WITHIN_MS = HOUR_MS;

/** Why a new certificate is needed. `self_signed`: the authority has not issued one yet. */
export type OrderReason = 'self_signed' | 'names' | 'ends';

/**
 * Whether to order a certificate: the one in use is self-signed, lacks a name, or has less than a third of its lifetime
 * left, which Let's Encrypt recommends. null: the certificate is good.
 */
export function orderReason(
  { chain }: Pick<Certificate, 'chain'>,
  hosts: readonly string[],
  nowMs: number,
): OrderReason | null {
  const leaf = new X509Certificate(chain[0]!);
  if (leaf.subject === leaf.issuer) return 'self_signed';
  if (!hosts.every((host) => leaf.checkHost(host) !== undefined)) return 'names';
  const startMs = Date.parse(leaf.validFrom);
  const endMs = Date.parse(leaf.validTo);
  return endMs - nowMs < (endMs - startMs) / 3 ? 'ends' : null;
}

/** Wait after the given number of failed orders in a row, without the random part. */
export function retryMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), CHECK_EVERY_MS);
}

/**
 * Wait until another order may fail without meeting the limit of the authority.
 * @param failedAtMs times of failed orders, epoch milliseconds; a time in the future comes from a changed clock
 * @returns milliseconds, at most an hour
 */
export function limitWaitMs(failedAtMs: readonly number[], nowMs: number): number {
  const recent = failedAtMs.filter((atMs) => atMs <= nowMs && nowMs - atMs < FAILURES_WITHIN_MS);
  const oldest = recent.sort((a, b) => b - a)[MAX_FAILURES - 1];
  return oldest === undefined ? 0 : oldest + FAILURES_WITHIN_MS - nowMs;
}
