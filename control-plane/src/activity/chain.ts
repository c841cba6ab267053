/**
 * The chain over the activity log. Each entry gets a seal: an HMAC over the seal before it and over all fields of the
 * entry. So a changed, missing, moved or inserted entry does not match its seal or the next one. The key is not in
 * the database: a person who can only write the database cannot compute a seal.
 * Source: docs/audit.md.
 */
import { createHmac, hkdfSync, type KeyObject } from 'node:crypto';
import { HOUR_MS } from '@footlight/platform';
import type { Selectable } from 'kysely';
import type { ActivitySealsTable, ActivityTable } from '../platform/database/tables/activity.ts';
import type { SecretKey, SecretKeys } from '../platform/secret-keys.ts';

export type Entry = Selectable<ActivityTable>;
export type Seal = Omit<ActivitySealsTable, 'activity_id'>;
/** The newest seal. */
export type Head = Pick<Seal, 'number' | 'hash'>;
/** An entry as it was read; seal null: it is not sealed yet. */
export interface ReadEntry extends Entry {
  seal: Seal | null;
}

/** Part of every sealed text, so that a later form of the text cannot be mistaken for this one. */
const FORM = 'footlight.activity.1';
/** `hash` before the first seal. */
const NO_HASH = '';
/** An entry is sealed within a minute. A longer time means that nothing sealed, or that entries were sealed again. */
export const LATE_MS = HOUR_MS;

/** Derives the key of seals, so that the master key has one purpose only. Source: RFC 5869. */
export function sealingKeyOf({ key }: SecretKey): Buffer {
  return Buffer.from(hkdfSync('sha256', key as KeyObject, '', 'footlight activity seals', 32));
}

/** The keys of seals, by the version of their master key. */
export type SealingKeys = ReadonlyMap<number, Buffer>;

export const sealingKeysOf = ({ current, previous }: SecretKeys): SealingKeys =>
  new Map([current, ...previous].map((key) => [key.version, sealingKeyOf(key)]));

/**
 * The hash of one seal, hex. Pure.
 * The sealed text is a JSON array, in which no two lists of values have the same form.
 * @param previous hash of the seal before this one
 */
function hashOf(key: Buffer, previous: string, entry: Entry, seal: Omit<Seal, 'hash'>): string {
  const { id, actor_user_id, action, target_type, target_id, details, created_at } = entry;
  const { number, sealed_at, key_version } = seal;
  const text = JSON.stringify([
    ...[FORM, number, previous, sealed_at, key_version],
    ...[id, actor_user_id, action, target_type, target_id, details, created_at],
  ]);
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Seals entries after the given seal, in the given order. Pure. @param head null: no entry is sealed yet */
export function sealAll(
  { version, key }: { version: number; key: Buffer },
  head: Head | null,
  entries: readonly Entry[],
  nowMs: number,
): Seal[] {
  let { number, hash } = head ?? { number: 0, hash: NO_HASH };
  return entries.map((entry) => {
    number += 1;
    const seal = { number, sealed_at: nowMs, key_version: version };
    hash = hashOf(key, hash, entry, seal);
    return { ...seal, hash };
  });
}

/**
 * The first place at which the log is not as it was sealed.
 * - changed: the fields of an entry do not match its seal.
 * - missing: seals before this entry are gone, and their entries too; count: how many seals.
 * - moved: the seal belongs to another place in the chain.
 * - inserted: the entry has no seal, but a later entry has one.
 * - ended: the log ends before its newest seal, so the newest entries are missing.
 * - headless: no entry has the seal that the caller remembers.
 */
export type Misfit =
  | { kind: 'changed' | 'moved' | 'inserted'; entry: Entry }
  | { kind: 'missing'; entry: Entry; count: number }
  | { kind: 'ended'; count: number }
  | { kind: 'headless' };

export type Verdict =
  | { kind: 'intact' }
  | { kind: 'tampered'; misfit: Misfit }
  /** The key of this entry's seal is not known, so nothing is known about the entry. */
  | { kind: 'no_key'; entry: Entry; version: number };

/** Checks entries in the order of their ids. It keeps a few values only, so a log may have any length. */
export class ChainCheck {
  readonly #keys: SealingKeys;
  readonly #remembered: string | null;
  #head: Head = { number: 0, hash: NO_HASH };
  #seen = false;
  #first: Entry | null = null;
  #last: Entry | null = null;
  #firstUnsealed: Entry | null = null;
  #unsealed = 0;
  #late = 0;
  #lastLate: ReadEntry | null = null;

  /** @param remembered hash of a former head; null: none was given */
  constructor(keys: SealingKeys, remembered: string | null) {
    this.#keys = keys;
    this.#remembered = remembered;
  }

  /** Numbers of the entries so far, for the report. */
  get counts() {
    return {
      head: this.#head.number === 0 ? null : this.#head,
      first: this.#first,
      last: this.#last,
      unsealed: this.#unsealed,
      firstUnsealed: this.#firstUnsealed,
      late: this.#late,
      lastLate: this.#lastLate,
    };
  }

  /** @returns a verdict that ends the check, or null */
  see(entry: ReadEntry): Verdict | null {
    const { seal } = entry;
    if (seal === null) {
      this.#firstUnsealed ??= entry;
      this.#unsealed += 1;
      return null;
    }
    if (this.#firstUnsealed !== null) return tampered({ kind: 'inserted', entry: this.#firstUnsealed });
    const before = this.#head;
    if (seal.number > before.number + 1)
      return tampered({ kind: 'missing', entry, count: seal.number - before.number - 1 });
    if (seal.number <= before.number) return tampered({ kind: 'moved', entry });
    const key = this.#keys.get(seal.key_version);
    if (key === undefined) return { kind: 'no_key', entry, version: seal.key_version };
    if (hashOf(key, before.hash, entry, seal) !== seal.hash) return tampered({ kind: 'changed', entry });
    this.#head = { number: seal.number, hash: seal.hash };
    this.#seen ||= seal.hash === this.#remembered;
    this.#first ??= entry;
    this.#last = entry;
    if (seal.sealed_at - entry.created_at > LATE_MS) {
      this.#late += 1;
      this.#lastLate = entry;
    }
    return null;
  }

  /** @param head the newest seal of the log; null: it has none */
  end(head: Head | null): Verdict {
    const missing = (head?.number ?? 0) - this.#head.number;
    if (missing > 0) return tampered({ kind: 'ended', count: missing });
    if (this.#remembered !== null && !this.#seen) return tampered({ kind: 'headless' });
    return { kind: 'intact' };
  }
}

const tampered = (misfit: Misfit): Verdict => ({ kind: 'tampered', misfit });
