import { execFile } from 'node:child_process';
import type { Clock, Timer } from './clock.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const NOTIFY_LIMIT_MS = 5_000;

/** Sends lines such as READY=1 to whoever started this process as a service. Source: sd_notify(3). */
export type Notify = (...lines: string[]) => void;

/**
 * The way to the service manager, or one that leads nowhere where none listens.
 *
 * Node has no unix datagram sockets, and the control plane loads no native code but what its data need; so systemd's
 * own program says it, which comes with every systemd and knows abstract sockets too. The unit lets children in for
 * that (NotifyAccess=all): all of them are the control plane's own.
 */
export function connectServiceManager(env: Environment): Notify {
  if (!env.NOTIFY_SOCKET) return () => undefined;
  return (...lines) => {
    // What it answers is of no use: there is nobody else to tell.
    execFile('systemd-notify', lines, { timeout: NOTIFY_LIMIT_MS }, () => undefined);
  };
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
  clock: Pick<Clock, 'setTimeout'>;
  /** Null: nobody waits for a sign of life, and none is given. */
  watchdogMs: number | null;
  /** Runs work once the event loop has been through its sockets. */
  afterPoll?: (work: () => void) => void;
}

/**
 * Feeds the watchdog from the event loop itself: each beat needs one whole turn, timers and then sockets, and arms
 * the next one only afterwards. A loop that hangs in either place feeds nobody, and a late beat is not made up for.
 * @returns a function that ends it
 */
export function startPulse(options: PulseOptions): () => void {
  const { notify, clock, watchdogMs: limitMs, afterPoll = (work) => void setImmediate(work) } = options;
  if (limitMs === null) return () => undefined;
  let timer: Timer | null = null;
  let ended = false;
  const arm = () => {
    timer = clock.setTimeout(() => afterPoll(beat), limitMs / 3);
  };
  const beat = () => {
    if (ended) return;
    notify('WATCHDOG=1');
    arm();
  };
  arm();
  return () => {
    ended = true;
    timer?.cancel();
  };
}
