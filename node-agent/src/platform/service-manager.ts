import koffi from 'koffi';
import type { Environment } from '../config/environment.ts';
import type { Clock, Timer } from './clock.ts';

/** How often the status is told where no watchdog asks for more. */
const STATUS_EVERY_MS = 10_000;

/** Sends lines such as READY=1 to whoever started this process as a service. Source: sd_notify(3). */
export type Notify = (...lines: string[]) => void;

/**
 * The way to the service manager, or one that leads nowhere where none listens.
 *
 * Node has no unix datagram sockets, and a helper program would have to be let in by NotifyAccess=all, and every
 * app with it; so this calls systemd's own client library, which knows abstract sockets too. A machine without
 * the library has no systemd.
 */
export function connectServiceManager(env: Environment): Notify {
  if (!env.NOTIFY_SOCKET) return () => undefined;
  try {
    const send = koffi
      .load('libsystemd.so.0')
      .func('int sd_notify(int unset_environment, const char *state)');
    // What it answers is of no use: there is nobody else to tell.
    return (...lines) => void send(0, lines.join('\n'));
  } catch {
    return () => undefined;
  }
}

/**
 * How long the service manager waits for a sign of life before it ends this process, in ms; null = it does not wait.
 * Source: sd_watchdog_enabled(3).
 */
export function watchdogMs(env: Environment, pid: number): number | null {
  const micros = Number(env.WATCHDOG_USEC ?? Number.NaN);
  if (!(micros > 0)) return null;
  if (env.WATCHDOG_PID && Number(env.WATCHDOG_PID) !== pid) return null;
  return micros / 1000;
}

export interface PulseOptions {
  notify: Notify;
  clock: Clock;
  /** Null: the status is told all the same. */
  watchdogMs: number | null;
  /** One line for `systemctl status`. */
  status: () => string;
  /** Runs work once the event loop has been through its sockets. */
  afterPoll?: (work: () => void) => void;
}

/**
 * Feeds the watchdog from the event loop itself: each beat needs one whole turn, timers and then sockets, and arms
 * the next one only afterwards. A loop that hangs in either place feeds nobody, and a late beat is not made up for.
 */
export class ServicePulse {
  readonly #options: PulseOptions;
  readonly #afterPoll: (work: () => void) => void;
  readonly #everyMs: number;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#afterPoll = options.afterPoll ?? ((work) => void setImmediate(work));
    this.#everyMs = Math.min(
      options.watchdogMs === null ? STATUS_EVERY_MS : options.watchdogMs / 3,
      STATUS_EVERY_MS,
    );
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.setTimeout(() => this.#afterPoll(() => this.#beat()), this.#everyMs);
  }

  #beat(): void {
    if (this.#closed) return;
    const { notify, status, watchdogMs: limit } = this.#options;
    notify(...(limit === null ? [] : ['WATCHDOG=1']), `STATUS=${status()}`);
    this.#arm();
  }
}
