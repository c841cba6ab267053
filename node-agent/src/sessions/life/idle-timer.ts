import type { Clock, Timer } from '@footlight/platform';

/**
 * Ends a session that has no viewers. Fires after idleMs without a viewer, counted from the start of the state
 * `running` or from the last disconnect. The timer is stopped while the control plane is down, because a viewer could
 * not reconnect, and starts again from zero afterwards.
 *
 * stopped ⇄ counting (one timer) → fired. Owner: the session; `running = false` at its end frees the timer.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #running = false;
  #viewer = false;
  #linkUp = true;
  #timer: Timer | null = null;
  /** Monotonic time in milliseconds at which the timer fires. */
  #endsAtMs = 0;

  /** @param idleMs 0: the timer never fires */
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

  /** Whole seconds until the timer fires; null: a viewer is connected, or the timer never fires; undefined: unknown. */
  get endsInS(): number | null | undefined {
    if (this.#idleMs === 0 || this.#viewer) return null;
    if (!this.#running || !this.#linkUp) return undefined;
    return Math.max(0, Math.ceil((this.#endsAtMs - this.#clock.monotonicMs()) / 1_000));
  }

  #rearm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#idleMs === 0 || !this.#running || this.#viewer || !this.#linkUp) return;
    this.#endsAtMs = this.#clock.monotonicMs() + this.#idleMs;
    this.#timer = this.#clock.setTimeout(this.#onIdle, this.#idleMs);
  }
}
