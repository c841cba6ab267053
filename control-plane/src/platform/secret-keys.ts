import { createSecretKey, type KeyObject } from 'node:crypto';

const KEY_BYTES = 32;
/** 32 bytes in either base64 alphabet, with or without padding. */
const BASE64_KEY = /^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/;
const MAX_VERSION = 2_147_483_647;

/**
 * A master key with its version, which is stored with every value that it encrypts. The type is KeyObject, because a
 * KeyObject is never printed with its bytes.
 */
export interface SecretKey {
  readonly version: number;
  readonly key: KeyObject;
}

/** The master keys: the current key encrypts, and former keys can still decrypt. */
export interface SecretKeys {
  readonly current: SecretKey;
  readonly previous: readonly SecretKey[];
}

/**
 * Parses `<version>:<base64>`, or base64 alone, which is version 1.
 * @param versioned whether the version is required
 * @returns null for invalid base64, a wrong length, or a version that is not a positive integer
 */
export function parseSecretKey(text: string, { versioned = false } = {}): SecretKey | null {
  const [first = '', second, ...more] = text.trim().split(':');
  if (more.length > 0 || (versioned && second === undefined)) return null;
  const version = second === undefined ? 1 : parseVersion(first);
  const encoded = second ?? first;
  if (version === null || !BASE64_KEY.test(encoded)) return null;
  // Node's decoder accepts both alphabets.
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length === KEY_BYTES ? { version, key: createSecretKey(bytes) } : null;
}

function parseVersion(text: string): number | null {
  if (!/^[1-9]\d{0,9}$/.test(text)) return null;
  const version = Number(text);
  return version <= MAX_VERSION ? version : null;
}
