/**
 * Encryption of secrets at rest: AES-256-GCM under a master key from the environment. The name of a secret is
 * authenticated with its value, so a ciphertext cannot be moved to another name.
 * Source: docs/configuration.md, "Secrets"; NIST SP 800-38D.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { SecretKey, SecretKeys } from '../platform/secret-keys.ts';

const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
/** Nonce length of GCM. A nonce must never be used twice with the same key. */
export const NONCE_BYTES = 12;

/** Authenticated but not stored; it separates this use of the key from other uses. */
const additionalData = (name: string): Buffer => Buffer.from(`footlight/secret/1:${name}`, 'utf8');

/** A stored value; both texts are base64. */
export interface SealedValue {
  ciphertext: string;
  nonce: string;
  key_version: number;
}

/** @param nonce 12 bytes that were never used with this key */
export function sealValue(
  { version, key }: SecretKey,
  name: string,
  value: string,
  nonce: Buffer,
): SealedValue {
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(name));
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { ciphertext: sealed.toString('base64'), nonce: nonce.toString('base64'), key_version: version };
}

/**
 * @param keys null: no master key is set
 * @returns the value, or the reason why it cannot be decrypted, for administrators
 */
export function openValue(
  keys: SecretKeys | null,
  name: string,
  sealed: SealedValue,
): { value: string } | { problem: string } {
  if (keys === null) {
    return { problem: 'The master key does not match: SERVICE_SECRET_KEY is not set. Set it again.' };
  }
  const { key_version } = sealed;
  const found = [keys.current, ...keys.previous].find(({ version }) => version === key_version);
  if (found === undefined) {
    return {
      problem: `The master key does not match: the value was stored under version ${key_version}, which is not set. Add that key to SERVICE_SECRET_KEY_PREVIOUS, or set the secret again.`,
    };
  }
  try {
    const bytes = Buffer.from(sealed.ciphertext, 'base64');
    const decipher = createDecipheriv(ALGORITHM, found.key, Buffer.from(sealed.nonce, 'base64'), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(additionalData(name));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const opened = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
    return { value: opened.toString('utf8') };
  } catch {
    // The message names both causes, because GCM cannot distinguish a wrong key from changed or moved bytes.
    return {
      problem: `The master key does not match: version ${key_version} does not open the stored value. Give the right key that version, or set the secret again.`,
    };
  }
}

/** Values with fewer characters get no hint. */
const MIN_HINTED = 12;
/**
 * Four characters are enough to distinguish two keys, and too few to help guessing a key of twelve or more characters.
 */
const HINT_LENGTH = 4;

/** The last four characters, as a hint for administrators; "" for short values. */
export function hintOf(value: string): string {
  const characters = [...value];
  return characters.length < MIN_HINTED ? '' : characters.slice(-HINT_LENGTH).join('');
}
