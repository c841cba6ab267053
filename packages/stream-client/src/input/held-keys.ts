import { KEY_CODES, LOCK } from '@footlight/protocol/input';

export interface KeyFacts {
  /** KeyboardEvent.code */
  code: string;
  repeat: boolean;
  /** bits of the lock keys in the event */
  locks: number;
}

export interface KeyAction {
  code: number;
  down: boolean;
  locks: number;
}

const LOCK_BITS: ReadonlyMap<string, number> = new Map([
  ['CapsLock', LOCK.caps],
  ['NumLock', LOCK.num],
  ['ScrollLock', LOCK.scroll],
]);

/**
 * Held keys, and the messages for a key event. Pure except for its own state; a key is up ⇄ down.
 *
 * Before a press, the receiver sets its lock keys to the bits of the KEY message. For a lock key itself, the bits must
 * therefore be the display's current state. Before the press this is the old state. Before the release it is always
 * "on", because X switches a lock off only at the release.
 */
export class HeldKeys {
  #held = new Map<string, number>();
  /** lock state that the session's display probably has */
  #locks = 0;

  get size(): number {
    return this.#held.size;
  }

  down(key: KeyFacts): KeyAction[] {
    const code = KEY_CODES.get(key.code);
    if (code === undefined || key.repeat || this.#held.has(key.code)) return [];
    this.#held.set(key.code, code);
    const own = LOCK_BITS.get(key.code) ?? 0;
    const locks = own === 0 ? key.locks : (key.locks & ~own) | (this.#locks & own);
    this.#locks = locks;
    return [{ code, down: true, locks }];
  }

  up(key: KeyFacts): KeyAction[] {
    const code = this.#held.get(key.code);
    if (code === undefined) return [];
    this.#held.delete(key.code);
    const own = LOCK_BITS.get(key.code) ?? 0;
    if (own === 0) {
      this.#locks = key.locks;
      // Some systems lose the release of a key that was held together with Meta.
      const swallowed = key.code.startsWith('Meta') ? this.#releaseHeld(key.locks) : [];
      return [{ code, down: false, locks: key.locks }, ...swallowed];
    }
    const wasOn = (this.#locks & own) !== 0;
    this.#locks = wasOn ? this.#locks & ~own : this.#locks | own;
    return [{ code, down: false, locks: (key.locks & ~own) | own }];
  }

  /** Press and release of a lock key, which some systems report as one event per toggle. */
  tap(key: KeyFacts): KeyAction[] {
    this.#held.delete(key.code);
    return [...this.down({ ...key, repeat: false }), ...this.up(key)];
  }

  /** Forgets all held keys, because the receiver has released them. */
  clear(): void {
    this.#held.clear();
  }

  #releaseHeld(locks: number): KeyAction[] {
    const actions = [...this.#held.values()].map((code): KeyAction => ({ code, down: false, locks }));
    this.#held.clear();
    return actions;
  }
}
