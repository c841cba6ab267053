import type { Clock, Timer } from '@footlight/platform';

/** Tick of the wheel: a deadline fires up to this much late, never early. */
const TICK_MS = 250;
/** A power of two, so that the slot can be computed with a bit mask. */
const SLOTS = 256;

/**
 * A deadline that also is the handle for its cancellation. Thousands of links have deadlines, so a deadline is one
 * small object without closures.
 */
class Entry implements Timer {
  readonly #wheel: TimerWheel;
  /** Tick at which the deadline fires. */
  readonly dueTick: number;
  readonly run: (of: unknown) => void;
  readonly of: unknown;

  constructor(wheel: TimerWheel, dueTick: number, run: (of: unknown) => void, of: unknown) {
    this.#wheel = wheel;
    this.dueTick = dueTick;
    this.run = run;
    this.of = of;
  }

  cancel(): void {
    this.#wheel.cancel(this);
  }
}

/**
 * Runs all deadlines of all agent links with one interval timer, because thousands of links would otherwise need tens
 * of thousands of timers. An entry is in the slot of its due tick; entries of later rounds stay in the slot.
 *
 * The clock detects a pause of the process by a timer that fires a second late. After a pause the tick of this wheel
 * always fires that late. A separate timer of one link could be due near the end of the pause. It would fire on time,
 * so the pause would stay undetected, and it would close a link whose frames are not read yet.
 *
 * The interval runs only while an entry exists. The fleet service closes the wheel.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #slots: Set<Entry>[] = Array.from({ length: SLOTS }, () => new Set());
  #originMs = 0;
  #tick = 0;
  #size = 0;
  #interval: Timer | null = null;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Scheduled deadlines (count). */
  get size(): number {
    return this.#size;
  }

  /**
   * Runs `run` once, `delayMs` to `delayMs` + one tick from now, unless the timer is cancelled or the wheel is closed.
   */
  schedule(delayMs: number, run: () => void): Timer;
  schedule<Of>(delayMs: number, run: (of: Of) => void, of: Of): Timer;
  schedule(delayMs: number, run: (of: unknown) => void, of?: unknown): Timer {
    if (this.#closed) return { cancel() {} };
    const now = this.#clock.monotonicMs();
    if (this.#interval === null) {
      this.#originMs = now;
      this.#tick = 0;
      this.#interval = this.#clock.setInterval(() => this.#advance(), TICK_MS);
    }
    const dueTick = Math.max(this.#tick + 1, Math.ceil((now + delayMs - this.#originMs) / TICK_MS));
    const entry = new Entry(this, dueTick, run, of);
    this.#slots[dueTick % SLOTS]!.add(entry);
    this.#size += 1;
    return entry;
  }

  /** Called by the entry itself. */
  cancel(entry: Entry): void {
    if (this.#slots[entry.dueTick % SLOTS]!.delete(entry)) this.#size -= 1;
  }

  close(): void {
    this.#closed = true;
    this.#interval?.cancel();
    this.#interval = null;
    for (const slot of this.#slots) slot.clear();
    this.#size = 0;
  }

  #advance(): void {
    // After a pause of the process the wheel catches up tick by tick, in order.
    const target = Math.floor((this.#clock.monotonicMs() - this.#originMs) / TICK_MS);
    while (this.#tick < target && this.#size > 0) {
      this.#tick += 1;
      const slot = this.#slots[this.#tick % SLOTS]!;
      for (const entry of slot) {
        if (entry.dueTick > this.#tick) continue;
        slot.delete(entry);
        this.#size -= 1;
        entry.run(entry.of);
      }
    }
    this.#tick = Math.max(this.#tick, target);
    if (this.#size === 0) {
      this.#interval?.cancel();
      this.#interval = null;
    }
  }
}
