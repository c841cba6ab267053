import type { Timer } from '@footlight/platform/timer';
import type { ClockRecord, Environment, TraceEvent } from './types.ts';

/**
 * Time limit for the first measurement of the clock, which needs eight pings. After the limit the report omits the
 * launch time.
 */
const CLOCK_WAIT_MS = 3_000;
/**
 * After this time a picture with only one colour is reported too. Most apps draw earlier, even on a slow machine
 * (LBreakoutHD after 3 s). Chosen, not measured.
 */
const DARK_MS = 10_000;
/**
 * Largest share of the page's time for reading the picture: a read of 1 ms is repeated after 20 ms. Chosen, not
 * measured.
 */
const READING_SHARE = 0.05;
/**
 * Largest gap between two reads. It bounds the error of the reported time on a slow page. After DARK_MS the gap may be
 * longer, because the launch time is then no longer exact anyway.
 */
const MAX_READ_GAP_MS = 100;
const DARK_READ_GAP_MS = 1_000;

/** A decoded frame, with the time when the page received it. */
export interface DecodedFrame {
  width: number;
  height: number;
  /** in Unix ms and monotonic ms of this browser */
  atUnixMs: number;
  atMs: number;
  /** arrival of the offer, monotonic ms */
  offeredAtMs: number;
}

export interface FirstFrameOptions {
  environment: Environment;
  /** the session's created_at in Unix ms of the service; null: unknown */
  createdAtMs: number | null;
  /** Whether the shown picture has only one colour; null: the picture cannot be read. */
  isFlat(): Promise<boolean | null>;
  /** The current measurement of the host's clock; null: not measured yet. */
  clock(): ClockRecord | null;
  onTrace(event: TraceEvent): void;
}

interface Search {
  /** a read of the picture is in progress */
  reading: boolean;
  nextReadMs: number;
  /** the first frame, if it had only one colour */
  dark: DecodedFrame | null;
  isDarkTold: boolean;
}

/**
 * Reports the time to the first picture once per connect(). The first picture is the first decoded frame with more than
 * one colour. If the session shows only one colour for DARK_MS or until its end, the first decoded frame is reported,
 * marked as flat. If this session shows a first picture later, this picture is reported as a second event.
 *
 * idle → (begin) → searching (one read of the picture at a time) → (not flat) → idle. A report waits for the clock,
 * CLOCK_WAIT_MS at most. Owns one timer while a report waits; flush() sends the report with the known values and ends
 * search and timer. Times are milliseconds on the clocks that DecodedFrame names.
 */
export class FirstFrameReport {
  readonly #options: FirstFrameOptions;
  #search: Search | null = null;
  #waiting: { frame: DecodedFrame; flat: boolean; timer: Timer } | null = null;

  constructor(options: FirstFrameOptions) {
    this.#options = options;
  }

  /** Whether the search still needs frames. */
  get isLooking(): boolean {
    return this.#search !== null;
  }

  /** Starts the search for the first frame after a new connect(). */
  begin(): void {
    this.flush();
    this.#search = { reading: false, nextReadMs: Number.NEGATIVE_INFINITY, dark: null, isDarkTold: false };
  }

  frame(frame: DecodedFrame): void {
    const search = this.#search;
    if (search === null || search.reading || frame.atMs < search.nextReadMs) return;
    search.reading = true;
    void this.#options.isFlat().then((flat) => {
      const nowMs = this.#options.environment.monotonicMs();
      search.reading = false;
      const gapMs = Math.min((nowMs - frame.atMs) / READING_SHARE, MAX_READ_GAP_MS);
      search.nextReadMs = nowMs + (search.isDarkTold ? DARK_READ_GAP_MS : gapMs);
      if (this.#search !== search) return;
      if (flat !== true) {
        this.#search = null;
        this.#tell(frame, false);
        return;
      }
      search.dark ??= frame;
      if (nowMs - search.dark.atMs >= DARK_MS) this.#tellDark(search);
    });
  }

  /** The host's clock was measured. */
  measured(clock: ClockRecord): void {
    this.#report(clock);
  }

  /** The person leaves the stream: reports the values that are known. */
  flush(): void {
    if (this.#search !== null) this.#tellDark(this.#search);
    this.#search = null;
    this.#report(this.#options.clock());
  }

  #tellDark(search: Search): void {
    if (search.dark === null || search.isDarkTold) return;
    search.isDarkTold = true;
    this.#tell(search.dark, true);
  }

  #tell(frame: DecodedFrame, flat: boolean): void {
    const { environment, createdAtMs, clock } = this.#options;
    this.#report(clock());
    const timer = environment.setTimeout(() => this.#report(null), CLOCK_WAIT_MS);
    this.#waiting = { frame, flat, timer };
    const measured = clock();
    if (measured !== null || createdAtMs === null) this.#report(measured);
  }

  #report(clock: ClockRecord | null): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    waiting.timer.cancel();
    this.#waiting = null;
    const { frame, flat } = waiting;
    const { createdAtMs, onTrace } = this.#options;
    const payload: TraceEvent['payload'] = {
      since_load_ms: Math.round(frame.atMs),
      since_offer_ms: Math.round(frame.atMs - frame.offeredAtMs),
      width: frame.width,
      height: frame.height,
      flat,
    };
    if (clock !== null && createdAtMs !== null)
      payload.since_launch_ms = Math.round(frame.atUnixMs + clock.client_offset_ms - createdAtMs);
    onTrace({ ts_unix_ms: Math.round(frame.atUnixMs), type: 'client.first_frame', payload });
  }
}
