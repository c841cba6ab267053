import { hash, timingSafeEqual } from 'node:crypto';

/** SHA-256 in lower-case hex: the only stored form of tokens and secrets. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');

/** Placeholder for a missing digest, so that the comparison takes the same time. */
export const NO_DIGEST = '0'.repeat(64);

/** Compares two digests in constant time. */
export function sameDigest(a: string, b: string): boolean {
  const left = Buffer.from(a, 'hex');
  const right = Buffer.from(b, 'hex');
  return left.length === right.length && timingSafeEqual(left, right);
}
