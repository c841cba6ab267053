import { LOCK_KEYS } from '../../display/x11/lock-keys.ts';
import type { InputAction } from './input-state.ts';
import type { PageRights } from './page-rights.ts';

/**
 * Actions for the display, without actions for gamepads and touch contacts, which have their own devices. A text has
 * the person who typed it, because it is dropped when this person leaves.
 */
export type DisplayAction =
  | Exclude<InputAction, { do: 'text' | 'pad_on' | 'pad_off' | 'pad' | 'contact' }>
  | (Extract<InputAction, { do: 'text' }> & { typist: PageRights });

/** Number of frames for which a key or button stays down, or up, before it changes again. */
const HELD_FRAMES = 2;
/** Longest hold, which applies at low frame rates. People hold a key for about this time. */
const MAX_HOLD_MS = 100;
/**
 * Longest wait of an action. If actions wait longer, timely input is more important than short presses that an app
 * might miss.
 */
export const MAX_WAIT_MS = 1_000;
/**
 * Largest number of waiting actions: two seconds of the highest allowed input rate (500 a second). MAX_WAIT_MS usually
 * limits the queue before it reaches this number.
 */
const MAX_WAITING = 1_000;

/** @param fps frame rate of the stream */
export function holdMsFor(fps: number): number {
  return Math.min(Math.ceil((HELD_FRAMES * 1_000) / fps), MAX_HOLD_MS);
}

/** An action that is due. */
export interface DueAction {
  action: DisplayAction;
  /**
   * Must be called when the action has reached the display. If pointer moves were merged, only the last callback is
   * kept.
   */
  onApplied: (() => void) | null;
}

interface Waiting extends DueAction {
  sinceMs: number;
}

/**
 * Extends short presses. A program that reads the keyboard once per frame misses a key that is pressed and released
 * between two reads, and merges two quick presses. Therefore a key or button stays down, or up, for at least the hold
 * time. This time starts when the display has processed the change, because a display that hangs for a moment would
 * otherwise process both changes at once.
 *
 * Later actions wait behind an extended press in order; only pointer moves may overtake keys. No action waits longer
 * than MAX_WAIT_MS. Pure.
 */
export class PressHold {
  readonly #holdMs: number;
  /** Time at which the display processed the last change of each key or button; infinite: not processed yet. */
  readonly #changedAtMs = new Map<string, number>();
  #waiting: Waiting[] = [];

  /** @param holdMs 0: presses are not extended */
  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** Time at which due() must be called next; null: no action waits. */
  get nextAtMs(): number | null {
    const [first] = this.#waiting;
    if (!first) return null;
    return Math.min(this.#earliestMs(first.action), first.sinceMs + MAX_WAIT_MS);
  }

  /** Bits of the lock keys whose press is waiting. */
  get waitingLocks(): number {
    return this.#waiting.reduce((locks, { action }) => {
      const lock =
        action.do === 'key' && action.down ? LOCK_KEYS.find(({ code }) => code === action.code) : null;
      return lock ? locks ^ lock.bit : locks;
    }, 0);
  }

  /** @returns the actions to apply now, in order */
  add(action: DisplayAction, nowMs: number, onApplied: DueAction['onApplied'] = null): DueAction[] {
    const done = this.due(nowMs);
    if (isMove(action) && !this.#waiting.some(({ action: { do: what } }) => what === 'button'))
      return [...done, { action, onApplied }];
    if (!this.#merge(action, onApplied)) this.#waiting.push({ action, sinceMs: nowMs, onApplied });
    return [...done, ...this.due(nowMs)];
  }

  /** @returns the actions to apply now, in order */
  due(nowMs: number): DueAction[] {
    const done: DueAction[] = [];
    const [oldest] = this.#waiting;
    const isLate = this.#waiting.length > MAX_WAITING || (oldest && nowMs - oldest.sinceMs >= MAX_WAIT_MS);
    while (this.#waiting[0] && (isLate || this.#earliestMs(this.#waiting[0].action) <= nowMs)) {
      const [{ action, onApplied }] = this.#waiting.splice(0, 1) as [Waiting];
      const name = pressName(action);
      if (name !== null && this.#holdMs > 0) this.#changedAtMs.set(name, Number.POSITIVE_INFINITY);
      done.push({ action, onApplied });
    }
    return done;
  }

  /** Called when the display has processed a key or button that due() returned. */
  taken(action: DisplayAction, nowMs: number): void {
    const name = pressName(action);
    if (name !== null && this.#changedAtMs.has(name)) this.#changedAtMs.set(name, nowMs);
  }

  /** Drops the waiting text of a person. */
  dropText(typist: PageRights): void {
    this.#waiting = this.#waiting.filter(({ action }) => action.do !== 'text' || action.typist !== typist);
  }

  #earliestMs(action: DisplayAction): number {
    const name = pressName(action);
    const changedAtMs = name === null ? undefined : this.#changedAtMs.get(name);
    return changedAtMs === undefined ? Number.NEGATIVE_INFINITY : changedAtMs + this.#holdMs;
  }

  /** Merges consecutive pointer moves. */
  #merge(action: DisplayAction, onApplied: DueAction['onApplied']): boolean {
    const last = this.#waiting.at(-1);
    if (action.do === 'move_to' && last?.action.do === 'move_to') last.action = action;
    else if (action.do === 'move_by' && last?.action.do === 'move_by')
      last.action = { do: 'move_by', dx: last.action.dx + action.dx, dy: last.action.dy + action.dy };
    else return false;
    last.onApplied = onApplied;
    return true;
  }
}

function isMove(action: DisplayAction): boolean {
  return action.do === 'move_to' || action.do === 'move_by';
}

/**
 * Name of the key or button that an action changes. The number of names is bounded by the number of keys and buttons.
 */
function pressName(action: DisplayAction): string | null {
  if (action.do === 'key') return `key ${action.code}`;
  return action.do === 'button' ? `button ${action.button}` : null;
}
