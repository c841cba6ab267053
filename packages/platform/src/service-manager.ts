import type { Clock, Timer } from './timer.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Interval of status messages if there is no watchdog. */
const STATUS_EVERY_MS = 10_000;

/** Sends lines such as READY=1 to the service manager that started this process. Source: sd_notify(3). */
export type Notify = (...lines: string[]) => void;

/**
 * Connects to the service manager. Without a service manager, the returned function does nothing.
 *
 * Node does not support unix datagram sockets. A helper program would need NotifyAccess=all, with which every child
 * process of the service, including apps, could send messages. So systemd's client library is used; a machine without
 * this library has no systemd.
 */
export async function connectServiceManager(env: Environment): Promise<Notify> {
  if (!env.NOTIFY_SOCKET) return () => undefined;
  try {
    // Imported here, because most processes have no service manager and need no native code for it.
    const { default: koffi } = await import('koffi');
    const send = koffi
      .load('libsystemd.so.0')
      .func('int sd_notify(int unset_environment, const char *state)');
    // The result is ignored, because an error could not be reported.
    return (...lines) => void send(0, lines.join('\n'));
  } catch {
    return () => undefined;
  }
}

/**
 * Watchdog interval of the service manager in milliseconds; null: there is no watchdog.
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
  /** Watchdog interval in milliseconds; null: there is no watchdog, so only the status is sent. */
  watchdogMs: number | null;
  /** Returns one line for `systemctl status`; missing: no status is sent. */
  status?: () => string;
  /** Runs work after the event loop has read its sockets. */
  afterPoll?: (work: () => void) => void;
}

/**
 * Sends watchdog messages from the event loop. A message is sent only after one whole turn of the loop (timers and then
 * sockets), and only then the next message is scheduled. So if the loop hangs in either phase, no message is sent, and
 * missed messages are not sent later.
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
