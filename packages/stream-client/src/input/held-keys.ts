import { KEY_CODES, LOCK } from '@footlight/protocol/input';

export interface KeyFacts {
  /** KeyboardEvent.code */
  code: string;
  repeat: boolean;
  /** lock bits of the event */
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
 * The receiver sets its locks to the bits of every KEY before it presses. For a lock key the bits therefore give the
 * display's current state: before the press the old state, and before the release always "on", because X changes a
 * lock off only at the release.
 */
export class HeldKeys {
  #held = new Map<string, number>();
  /** assumed lock state of the session's display */
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
      // Some systems drop the release of keys that were held together with Meta.
      const swallowed = key.code.startsWith('Meta') ? this.#releaseHeld(key.locks) : [];
      return [{ code, down: false, locks: key.locks }, ...swallowed];
    }
    const wasOn = (this.#locks & own) !== 0;
    this.#locks = wasOn ? this.#locks & ~own : this.#locks | own;
    return [{ code, down: false, locks: (key.locks & ~own) | own }];
  }

  /** A whole press of a lock key that the system reports as one event per toggle. */
  tap(key: KeyFacts): KeyAction[] {
    this.#held.delete(key.code);
    return [...this.down({ ...key, repeat: false }), ...this.up(key)];
  }

  /** Forgets everything, because the receiver released all keys. */
  clear(): void {
    this.#held.clear();
  }

  #releaseHeld(locks: number): KeyAction[] {
    const actions = [...this.#held.values()].map((code): KeyAction => ({ code, down: false, locks }));
    this.#held.clear();
    return actions;
  }
}
