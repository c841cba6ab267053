import { LOCK_KEYS } from '../../display/x11/x-input.ts';
import type { InputAction } from './input-state.ts';

/** What a display takes; pads and contacts go elsewhere. */
export type DisplayAction = Exclude<InputAction, { do: 'pad_on' | 'pad_off' | 'pad' | 'contact' }>;

/** Frames of the stream that a key or button is down, and up, before it changes again (count). */
const HELD_FRAMES = 2;
/** At the lowest frame rates a press is not made longer than this; people hold a key for about as long. */
const MAX_HOLD_MS = 100;
/** After this nothing waits any more: input in time is worth more than presses that an app might miss. */
export const MAX_WAIT_MS = 1_000;
const MAX_WAITING = 1_000;

/** @param fps frame rate of the stream */
export function holdMsFor(fps: number): number {
  return Math.min(Math.ceil((HELD_FRAMES * 1_000) / fps), MAX_HOLD_MS);
}

interface Waiting {
  action: DisplayAction;
  sinceMs: number;
}

/**
 * Makes short presses long enough to be seen: a program that looks at the keyboard once a frame misses a key that went
 * down and up between two looks, and takes two quick presses for one. A key or button stays down, and up, for the hold
 * at least.
 *
 * What comes behind a press that waits for its end waits too, so the order of everything is kept; only moves of the
 * pointer pass keys, which they have no part in. Nothing waits longer than MAX_WAIT_MS. Pure: it is told the time.
 */
export class PressHold {
  readonly #holdMs: number;
  readonly #changedAtMs = new Map<string, number>();
  #waiting: Waiting[] = [];

  /** @param holdMs 0: everything happens at once */
  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** When `due` has something to do; null: nothing waits. */
  get nextAtMs(): number | null {
    const [first] = this.#waiting;
    if (!first) return null;
    return Math.min(this.#earliestMs(first.action), first.sinceMs + MAX_WAIT_MS);
  }

  /** Bits of the lock keys that are to be pressed. */
  get waitingLocks(): number {
    return this.#waiting.reduce((locks, { action }) => {
      const lock =
        action.do === 'key' && action.down ? LOCK_KEYS.find(({ code }) => code === action.code) : null;
      return lock ? locks ^ lock.bit : locks;
    }, 0);
  }

  /** @returns what is to be done now, in this order */
  add(action: DisplayAction, nowMs: number): DisplayAction[] {
    const done = this.due(nowMs);
    if (isMove(action) && !this.#waiting.some(({ action: { do: what } }) => what === 'button'))
      return [...done, action];
    if (!this.#merge(action)) this.#waiting.push({ action, sinceMs: nowMs });
    return [...done, ...this.due(nowMs)];
  }

  /** @returns what is to be done now, in this order */
  due(nowMs: number): DisplayAction[] {
    const done: DisplayAction[] = [];
    const [oldest] = this.#waiting;
    const isLate = this.#waiting.length > MAX_WAITING || (oldest && nowMs - oldest.sinceMs >= MAX_WAIT_MS);
    while (this.#waiting[0] && (isLate || this.#earliestMs(this.#waiting[0].action) <= nowMs)) {
      const [{ action }] = this.#waiting.splice(0, 1) as [Waiting];
      const name = pressName(action);
      if (name !== null) this.#changedAtMs.set(name, nowMs);
      done.push(action);
    }
    return done;
  }

  /** Text that waits is given up. */
  dropText(): void {
    this.#waiting = this.#waiting.filter(({ action }) => action.do !== 'text');
  }

  #earliestMs(action: DisplayAction): number {
    const name = pressName(action);
    const changedAtMs = name === null ? undefined : this.#changedAtMs.get(name);
    return changedAtMs === undefined ? Number.NEGATIVE_INFINITY : changedAtMs + this.#holdMs;
  }

  /** Moves of the pointer that follow each other are one. */
  #merge(action: DisplayAction): boolean {
    const last = this.#waiting.at(-1);
    if (action.do === 'move_to' && last?.action.do === 'move_to') {
      last.action = action;
      return true;
    }
    if (action.do === 'move_by' && last?.action.do === 'move_by') {
      last.action = { do: 'move_by', dx: last.action.dx + action.dx, dy: last.action.dy + action.dy };
      return true;
    }
    return false;
  }
}

function isMove(action: DisplayAction): boolean {
  return action.do === 'move_to' || action.do === 'move_by';
}

/** Names the key or button that changes; at most as many as there are keys and buttons. */
function pressName(action: DisplayAction): string | null {
  if (action.do === 'key') return `key ${action.code}`;
  return action.do === 'button' ? `button ${action.button}` : null;
}
