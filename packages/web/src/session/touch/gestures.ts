/**
 * Translates fingers into gestures, without access to the page: one state machine for each touch mode. Pure except for
 * its own state.
 */
import type { Finger } from '@footlight/stream-client';

export interface Point {
  x: number;
  y: number;
}

export type Gesture =
  /** the pointer follows the finger, CSS pixels; ms since the last move, for the speed */
  | { do: 'move'; dx: number; dy: number; ms: number }
  /** at null: the pointer's position */
  | { do: 'press' | 'release' | 'click'; button: number; at: Point | null }
  /** two fingers move the content by this distance, CSS pixels; at null: at the pointer's position */
  | { do: 'scroll'; dx: number; dy: number; at: Point | null }
  /** a touch in the app itself */
  | { do: 'touch'; action: Finger['action']; x: number; y: number; pressure: number }
  /** two fingers, before and after a move */
  | { do: 'pinch'; from: Pair; to: Pair };

export type Pair = readonly [Point, Point];

/** Turns fingers into gestures. */
export interface Gestures {
  take(finger: Finger): Gesture[];
  /** monotonic ms at which wait() must be called; null: no call is needed */
  readonly dueMs: number | null;
  wait(nowMs: number): Gesture[];
  /** the session released everything, so no gesture reports a release */
  forget(): void;
}

/**
 * Largest movement of a finger that counts as resting or tapping, CSS pixels. Android: 8 dp
 * (ViewConfiguration.TOUCH_SLOP).
 */
const SLOP_PX = 8;
/** Time after which a resting finger starts a drag. Android: 400 ms (ViewConfiguration, long press). */
const LONG_PRESS_MS = 400;
/** Longest tap of two fingers. Chosen, not measured. */
const PAIR_TAP_MS = 400;
/**
 * If a second finger is put down within this time, the two are a pair, and the app never gets the first finger. Two
 * fingers of a hand are put down within 50 ms. Chosen, not measured.
 */
const PAIR_MS = 60;
/**
 * Moves of two fingers after which their gesture is known. A browser reports the moves of a frame one by one, so two
 * moves are too few to distinguish two parallel fingers from one finger that moves away. Chosen, not measured.
 */
const PAIR_MOVES = 4;

const LEFT = 0;
const RIGHT = 2;

/** Fingers that are down, in the order in which they were put down. */
class Hand {
  readonly fingers = new Map<number, { from: Point; at: Point; atMs: number; pressure: number }>();
  /** whether a finger has moved by more than the slop */
  moved = false;
  /** when the first finger was put down, ms */
  sinceMs = 0;

  down({ id, x, y, atMs, pressure }: Finger): void {
    if (this.fingers.size === 0) {
      this.moved = false;
      this.sinceMs = atMs;
    }
    this.fingers.set(id, { from: { x, y }, at: { x, y }, atMs, pressure });
  }

  /** @returns the finger's previous position; null: unknown finger */
  move({ id, x, y, atMs, pressure }: Finger): { was: Point; ms: number } | null {
    const finger = this.fingers.get(id);
    if (finger === undefined) return null;
    const { at: was, atMs: wasMs } = finger;
    Object.assign(finger, { at: { x, y }, atMs, pressure });
    if (distance(finger.from, finger.at) > SLOP_PX) this.moved = true;
    return { was, ms: Math.max(0, atMs - wasMs) };
  }

  /** The first two fingers. */
  pair(): Pair | null {
    const [first, second] = [...this.fingers.values()];
    return first && second ? [first.at, second.at] : null;
  }
}

/**
 * Uses the picture as a touch pad: a finger moves the pointer, a tap clicks, a long press drags. Two fingers scroll,
 * and their tap is a right click.
 *
 * idle → one → (moved) → idle; one → drag, after a long press → idle; one → two → over, when the first finger is lifted
 * → idle, when the last is lifted. A third finger ends the gesture.
 */
export class TouchPad implements Gestures {
  #hand = new Hand();
  #state: 'idle' | 'one' | 'drag' | 'two' | 'over' = 'idle';

  get dueMs(): number | null {
    return this.#state === 'one' && !this.#hand.moved ? this.#hand.sinceMs + LONG_PRESS_MS : null;
  }

  take(finger: Finger): Gesture[] {
    if (finger.action === 'down') return this.#down(finger);
    if (finger.action === 'move') return this.#move(finger);
    return this.#up(finger);
  }

  wait(nowMs: number): Gesture[] {
    if (this.dueMs === null || nowMs < this.dueMs) return [];
    this.#state = 'drag';
    return [{ do: 'press', button: LEFT, at: null }];
  }

  forget(): void {
    this.#hand.fingers.clear();
    this.#state = 'idle';
  }

  #down(finger: Finger): Gesture[] {
    this.#hand.down(finger);
    if (this.#state === 'idle') this.#state = 'one';
    else if (this.#state === 'one' && !this.#hand.moved) this.#state = 'two';
    else if (this.#state !== 'drag') {
      // A second finger joins a moving finger, and from now on the two scroll.
      const joins = this.#state === 'one' && this.#hand.fingers.size === 2;
      this.#state = joins ? 'two' : 'over';
    }
    return [];
  }

  #move(finger: Finger): Gesture[] {
    const before = this.#hand.moved;
    const moved = this.#hand.move(finger);
    if (moved === null) return [];
    const [dx, dy] = [finger.x - moved.was.x, finger.y - moved.was.y];
    const isFirst = this.#hand.fingers.keys().next().value === finger.id;
    // The first pixels only distinguish a move from a tap, so they are not sent.
    if (this.#state === 'drag') return isFirst ? [{ do: 'move', dx, dy, ms: moved.ms }] : [];
    if (!before) return [];
    if (this.#state === 'one') return [{ do: 'move', dx, dy, ms: moved.ms }];
    // The middle of the pair moves half as far as each finger.
    return this.#state === 'two' ? [{ do: 'scroll', dx: dx / 2, dy: dy / 2, at: null }] : [];
  }

  #up(finger: Finger): Gesture[] {
    const { fingers, moved, sinceMs } = this.#hand;
    const first = fingers.keys().next().value === finger.id;
    if (!fingers.delete(finger.id)) return [];
    const before = this.#state;
    if (before === 'drag') {
      if (!first) return [];
      this.#state = fingers.size === 0 ? 'idle' : 'over';
      return [{ do: 'release', button: LEFT, at: null }];
    }
    this.#state = fingers.size === 0 ? 'idle' : 'over';
    if (finger.action === 'cancel' || moved) return [];
    if (before === 'one') return [{ do: 'click', button: LEFT, at: null }];
    const isTap = before === 'two' && finger.atMs - sinceMs <= PAIR_TAP_MS;
    return isTap ? [{ do: 'click', button: RIGHT, at: null }] : [];
  }
}

/**
 * A finger touches the app directly. Two parallel fingers scroll, two fingers that move apart or together enlarge the
 * picture, and a tap of two fingers is a right click. Not used if the app has a touch screen, which gets all fingers.
 *
 * idle → held back → touching → idle; held back, or touching at one place → two → scroll or pinch; two, scroll or pinch
 * → over, when the first finger is lifted → idle, when the last is lifted.
 */
export class DirectTouch implements Gestures {
  #hand = new Hand();
  #state: 'idle' | 'held back' | 'touching' | 'two' | 'scroll' | 'pinch' | 'over' = 'idle';
  /** id of the finger that touches the app */
  #id = 0;
  /** where the two fingers were before they moved, and how many moves they made since */
  #pair: { from: Pair; moves: number } | null = null;

  get dueMs(): number | null {
    return this.#state === 'held back' ? this.#hand.sinceMs + PAIR_MS : null;
  }

  take(finger: Finger): Gesture[] {
    if (finger.action === 'down') return this.#down(finger);
    if (finger.action === 'move') return this.#move(finger);
    return this.#up(finger);
  }

  wait(nowMs: number): Gesture[] {
    return this.dueMs === null || nowMs < this.dueMs ? [] : this.#begin();
  }

  forget(): void {
    this.#hand.fingers.clear();
    this.#state = 'idle';
  }

  /** Sends the touch to the app, at the position where the finger was first put down. */
  #begin(): Gesture[] {
    const finger = this.#hand.fingers.get(this.#id);
    if (finger === undefined) return [];
    this.#state = 'touching';
    return [{ do: 'touch', action: 'down', ...finger.from, pressure: finger.pressure }];
  }

  #down(finger: Finger): Gesture[] {
    this.#hand.down(finger);
    const before = this.#state;
    if (before === 'idle') {
      this.#state = 'held back';
      this.#id = finger.id;
      return [];
    }
    if (before === 'touching') {
      // A drag in the app continues. If the finger rested, it was the first finger of a pair.
      if (this.#hand.moved) return [];
      this.#state = 'two';
      this.#pair = null;
      const { x, y } = this.#hand.fingers.get(this.#id)?.at ?? finger;
      return [{ do: 'touch', action: 'cancel', x, y, pressure: 0 }];
    }
    this.#state = before === 'held back' ? 'two' : 'over';
    this.#pair = null;
    return [];
  }

  #move(finger: Finger): Gesture[] {
    const from = this.#hand.pair();
    if (this.#hand.move(finger) === null) return [];
    const begun = this.#state === 'held back' && this.#hand.moved ? this.#begin() : [];
    if (this.#state === 'touching' && finger.id === this.#id) {
      const { x, y, pressure } = finger;
      return [...begun, { do: 'touch', action: 'move', x, y, pressure }];
    }
    const to = this.#hand.pair();
    if (from === null || to === null) return [];
    if (this.#state === 'pinch') return [{ do: 'pinch', from, to }];
    if (this.#state === 'scroll') return [scrolled(from, to)];
    return this.#state === 'two' ? this.#moveUnknown(from, to) : [];
  }

  /** Two fingers move, and their gesture is not known yet. Once it is known, it starts where the fingers started. */
  #moveUnknown(from: Pair, to: Pair): Gesture[] {
    this.#pair ??= { from, moves: 0 };
    this.#pair.moves += 1;
    if (!this.#hand.moved || this.#pair.moves < PAIR_MOVES) return [];
    const { from: start } = this.#pair;
    const apart = Math.abs(distance(...to) - distance(...start));
    this.#state = apart > distance(middleOf(start), middleOf(to)) ? 'pinch' : 'scroll';
    return [this.#state === 'pinch' ? { do: 'pinch', from: start, to } : scrolled(start, to)];
  }

  #up(finger: Finger): Gesture[] {
    const { fingers, moved, sinceMs } = this.#hand;
    const place = fingers.get(this.#id)?.from ?? null;
    const begun = this.#state === 'held back' && finger.action === 'up' ? this.#begin() : [];
    if (!fingers.delete(finger.id)) return [];
    const before = this.#state;
    if (before === 'touching' && finger.id !== this.#id) return [];
    this.#state = fingers.size === 0 ? 'idle' : 'over';
    const { action, x, y, pressure } = finger;
    if (before === 'touching') return [...begun, { do: 'touch', action, x, y, pressure }];
    const isTap =
      before === 'two' && action === 'up' && !moved && finger.atMs - sinceMs <= PAIR_TAP_MS && place !== null;
    return isTap ? [{ do: 'click', button: RIGHT, at: place }] : [];
  }
}

function scrolled(from: Pair, to: Pair): Gesture {
  const [was, at] = [middleOf(from), middleOf(to)];
  return { do: 'scroll', dx: at.x - was.x, dy: at.y - was.y, at };
}

export function middleOf([a, b]: Pair): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

export function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
