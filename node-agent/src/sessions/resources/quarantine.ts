import type { Logger } from '@footlight/platform';
import { type Clock, delay, errorText, type Timer } from '@footlight/platform';
import { sendSignal } from '../../runtime/child.ts';
import { sessionProcesses } from '../../runtime/proc-table.ts';

const KILL_ROUNDS = 100;
const KILL_PERIOD_MS = 10;
const LOOK_AGAIN_MS = 1_000;

/** Whose processes are meant. */
export interface Tenant {
  sessionId: string;
  /** The session's own user; null: sessions share the agent's, and its variable names its processes. */
  uid: number | null;
  /** What no other session may have while one of its processes lives. */
  homes: readonly string[];
}

/** Sends SIGKILL to everything that still runs of a session. @returns how many processes that were */
export function killProcesses({ sessionId, uid }: Tenant): number {
  const left = sessionProcesses(sessionId, uid);
  for (const row of left) sendSignal(row.pid, 'SIGKILL');
  return left.length;
}

/** Kills what still runs of a session until it is gone, for 1 s at most. @returns whether nothing of it is left */
export async function endProcesses(
  tenant: Tenant,
  clock: Clock,
  kill: typeof killProcesses = killProcesses,
): Promise<boolean> {
  for (let round = 0; round < KILL_ROUNDS; round++) {
    if (kill(tenant) === 0) return true;
    await delay(clock, KILL_PERIOD_MS);
  }
  return false;
}

/**
 * What ended sessions hold as long as one of their processes lives. SIGKILL ends a process at once, unless the kernel
 * has it: it waits for a disk or a server that does not answer. User, home and directories of its session then stay
 * taken, and it is looked for every second until it is gone.
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
   * Ends what still runs of a session, and frees what it held once nothing does: before this comes back, or, where
   * something is left after a second, later.
   * @param free called once; comes too late for the caller to hear when it throws after this has come back
   */
  async release(tenant: Tenant, free: () => Promise<void>): Promise<void> {
    if (await endProcesses(tenant, this.#clock, this.#kill)) return free();
    const { sessionId, uid, homes } = tenant;
    this.#logger.error({ session_id: sessionId, uid, homes }, 'session.processes_left');
    this.#lookAgain(tenant, async () => {
      try {
        await free();
        this.#logger.info({ session_id: sessionId, uid, homes }, 'session.processes_gone');
      } catch (error) {
        this.#logger.error({ session_id: sessionId, error: errorText(error) }, 'session.not_removed');
      }
    });
  }

  /** Looks no more. What is left is found by the next agent process, by the directories that are still there. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #lookAgain(tenant: Tenant, free: () => Promise<void>): void {
    if (this.#closed) return;
    const timer = this.#clock.setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#kill(tenant) === 0) void free();
      else this.#lookAgain(tenant, free);
    }, LOOK_AGAIN_MS);
    this.#timers.add(timer);
  }
}
