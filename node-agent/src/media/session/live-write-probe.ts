import type { Timer } from '@footlight/platform';
import type { MediaClock } from './media-clock.ts';

/** Share of the launch bitrate to which the bitrate is lowered, and the times of both writes after the first frame. */
const SHARE = 0.8;
const DOWN_MS = 10_000;
const BACK_MS = 17_000;

/**
 * During a measurement, lowers the bitrate and restores it, so that LiveWrites can check both changes. Owner: the media
 * session; start() at the first frame, close() once.
 */
export class LiveWriteProbe {
  readonly #clock: MediaClock;
  readonly #launchKbps: number;
  readonly #write: (kbps: number) => void;
  #timers: Timer[] = [];

  constructor(clock: MediaClock, launchKbps: number, write: (kbps: number) => void) {
    this.#clock = clock;
    this.#launchKbps = launchKbps;
    this.#write = write;
  }

  start(): void {
    this.#timers = [
      this.#clock.setTimeout(() => this.#write(Math.round(SHARE * this.#launchKbps)), DOWN_MS),
      this.#clock.setTimeout(() => this.#write(this.#launchKbps), BACK_MS),
    ];
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}
