import type { Clock, Timer } from '../platform/clock.ts';

/**
 * Ends a session that nobody watches: fires after idleMs without a viewer, counted from running or from the last
 * disconnect. It rests while the control plane is away, since a viewer could not come back then, and counts from
 * zero afterwards.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #running = false;
  #viewer = false;
  #linkUp = true;
  #timer: Timer | null = null;

  /** @param idleMs 0 = never */
  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
  }

  set running(value: boolean) {
    this.#running = value;
    this.#rearm();
  }

  set viewer(value: boolean) {
    this.#viewer = value;
    this.#rearm();
  }

  set linkUp(value: boolean) {
    this.#linkUp = value;
    this.#rearm();
  }

  #rearm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#idleMs === 0 || !this.#running || this.#viewer || !this.#linkUp) return;
    this.#timer = this.#clock.setTimeout(this.#onIdle, this.#idleMs);
  }
}
