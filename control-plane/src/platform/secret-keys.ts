import { createSecretKey, type KeyObject } from 'node:crypto';

const KEY_BYTES = 32;
/** 32 bytes in base64, in one of its two alphabets, with or without padding. */
const BASE64_KEY = /^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/;
const MAX_VERSION = 2_147_483_647;

/** A master key and the number that rows carry which it encrypted. A KeyObject shows its bytes to no log. */
export interface SecretKey {
  readonly version: number;
  readonly key: KeyObject;
}

/** The master keys of an instance: one that encrypts, and former ones that still decrypt. */
export interface SecretKeys {
  readonly current: SecretKey;
  readonly previous: readonly SecretKey[];
}

/**
 * Reads `<version>:<base64>`, or bare base64, which is version 1.
 * @param versioned whether the version must stand there
 * @returns null for anything else: bad base64, another length, a version that is no whole number from 1
 */
export function parseSecretKey(text: string, { versioned = false } = {}): SecretKey | null {
  const [first = '', second, ...more] = text.trim().split(':');
  if (more.length > 0 || (versioned && second === undefined)) return null;
  const version = second === undefined ? 1 : parseVersion(first);
  const encoded = second ?? first;
  if (version === null || !BASE64_KEY.test(encoded)) return null;
  // Node's decoder takes both alphabets.
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length === KEY_BYTES ? { version, key: createSecretKey(bytes) } : null;
}

function parseVersion(text: string): number | null {
  if (!/^[1-9]\d{0,9}$/.test(text)) return null;
  const version = Number(text);
  return version <= MAX_VERSION ? version : null;
}
