import type { Logger } from '@footlight/platform';
import { type Clock, errorText, type Timer } from '@footlight/platform';
import { sessionProcesses } from '../../runtime/proc-table.ts';
import { killUntilGone, sendSignal } from '../../runtime/programs/child.ts';

/** Interval of further attempts, after the first second (killUntilGone). */
const RETRY_MS = 1_000;

/** User and homes of a session. */
export interface SessionOwnership {
  sessionId: string;
  /**
   * The session's user; null: sessions run as the agent's user, and the session's variable identifies its processes.
   */
  uid: number | null;
  /** Homes that no other session may use while a process of this session lives. */
  homes: readonly string[];
}

/** Sends SIGKILL to every remaining process of a session. @returns the number of these processes */
export function killProcesses({ sessionId, uid }: SessionOwnership): number {
  const left = sessionProcesses(sessionId, uid);
  for (const row of left) sendSignal(row.pid, 'SIGKILL');
  return left.length;
}

/** Kills the remaining processes of a session, for at most 1 s. @returns whether no process is left */
export function endProcesses(
  ownership: SessionOwnership,
  clock: Clock,
  kill: typeof killProcesses = killProcesses,
): Promise<boolean> {
  return killUntilGone(clock, () => kill(ownership) === 0);
}

/**
 * Resources of ended sessions that still have processes. SIGKILL ends a process at once, except when the process is
 * blocked in the kernel by a disk or server that does not answer. User, home and directories of its session then stay
 * locked, and the process is checked every second until it has ended.
 *
 * Owner: the agent. close() frees the timers; the next agent process finds the remaining resources by the session's
 * record.
 */
export class Quarantine {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kill: typeof killProcesses;
  readonly #timers = new Set<Timer>();
  #closed = false;

  constructor(deps: { clock: Clock; logger: Logger; kill?: typeof killProcesses }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#kill = deps.kill ?? killProcesses;
  }

  /**
   * Ends the remaining processes of a session, and then frees the session's resources. If a process is left after a
   * second, release() returns, and the resources are freed later.
   * @param free called once; if it is called after release() has returned, its exception is only logged
   */
  async release(ownership: SessionOwnership, free: () => Promise<void>): Promise<void> {
    if (await endProcesses(ownership, this.#clock, this.#kill)) return free();
    const { sessionId, uid, homes } = ownership;
    this.#logger.error({ session_id: sessionId, uid, homes }, 'session.processes_left');
    this.#retry(ownership, async () => {
      try {
        await free();
        this.#logger.info({ session_id: sessionId, uid, homes }, 'session.processes_gone');
      } catch (error) {
        this.#logger.error({ session_id: sessionId, error: errorText(error) }, 'session.not_removed');
      }
    });
  }

  /** Stops checking. The next agent process finds the remaining resources by the sessions' directories. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #retry(ownership: SessionOwnership, free: () => Promise<void>): void {
    if (this.#closed) return;
    const timer = this.#clock.setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#kill(ownership) === 0) void free();
      else this.#retry(ownership, free);
    }, RETRY_MS);
    this.#timers.add(timer);
  }
}
