import type { Clock, Timer } from './timer.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Status interval without a watchdog. */
const STATUS_EVERY_MS = 10_000;

/** Sends lines such as READY=1 to the service manager that started this process. Source: sd_notify(3). */
export type Notify = (...lines: string[]) => void;

/**
 * Connects to the service manager; without one the returned function does nothing.
 *
 * Node has no unix datagram sockets. A helper program would need NotifyAccess=all, which lets every child of the
 * service send too, including apps. So this calls systemd's client library; a machine without the library has no
 * systemd.
 */
export async function connectServiceManager(env: Environment): Promise<Notify> {
  if (!env.NOTIFY_SOCKET) return () => undefined;
  try {
    // Imported here, because most processes have no service manager and need no native code for it.
    const { default: koffi } = await import('koffi');
    const send = koffi
      .load('libsystemd.so.0')
      .func('int sd_notify(int unset_environment, const char *state)');
    // The result is ignored, because an error could not be reported anyway.
    return (...lines) => void send(0, lines.join('\n'));
  } catch {
    return () => undefined;
  }
}

/**
 * Watchdog interval of the service manager, ms; null = no watchdog.
 * Source: sd_watchdog_enabled(3).
 */
export function watchdogMs(env: Environment, pid: number): number | null {
  const micros = Number(env.WATCHDOG_USEC ?? Number.NaN);
  if (!(micros > 0)) return null;
  if (env.WATCHDOG_PID && Number(env.WATCHDOG_PID) !== pid) return null;
  return micros / 1000;
}

export interface ServicePulseOptions {
  notify: Notify;
  clock: Pick<Clock, 'setTimeout'>;
  /** null: no watchdog; only the status is sent. */
  watchdogMs: number | null;
  /** One line for `systemctl status`; missing: none. */
  status?: () => string;
  /** Runs work after the event loop has read its sockets. */
  afterPoll?: (work: () => void) => void;
}

/**
 * Feeds the watchdog from the event loop: each beat needs one whole turn, timers and then sockets, and only then
 * schedules the next. A loop that hangs in either phase does not feed the watchdog, and missed beats are not sent
 * later.
 */
export class ServicePulse {
  readonly #options: ServicePulseOptions;
  readonly #afterPoll: (work: () => void) => void;
  readonly #everyMs: number | null;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: ServicePulseOptions) {
    this.#options = options;
    this.#afterPoll = options.afterPoll ?? ((work) => void setImmediate(work));
    const periods = [
      ...(options.watchdogMs === null ? [] : [options.watchdogMs / 3]),
      ...(options.status === undefined ? [] : [STATUS_EVERY_MS]),
    ];
    this.#everyMs = periods.length === 0 ? null : Math.min(...periods);
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    if (this.#closed || this.#everyMs === null) return;
    this.#timer = this.#options.clock.setTimeout(() => this.#afterPoll(() => this.#beat()), this.#everyMs);
  }

  #beat(): void {
    if (this.#closed) return;
    const { notify, status, watchdogMs: limit } = this.#options;
    const lines = [
      ...(limit === null ? [] : ['WATCHDOG=1']),
      ...(status === undefined ? [] : [`STATUS=${status()}`]),
    ];
    notify(...lines);
    this.#arm();
  }
}
