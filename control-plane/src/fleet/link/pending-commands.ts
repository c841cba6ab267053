import type { Timer } from '@footlight/platform';
import type { Ack } from '@footlight/protocol/agent';
import type { CommandResult } from '../subjects.ts';
import type { TimerWheel } from './timer-wheel.ts';

/** Maximum pending commands of a link; its send queue cannot contain more. */
const MAX_PENDING = 2_048;

interface Pending {
  settle: (result: CommandResult) => void;
  deadline: Timer;
}

/**
 * Pairs commands with their acks. Each command is settled exactly once: by its ack, its deadline, or the end of the
 * link. An ack for an unknown id (repeated or late) is ignored.
 */
export class PendingCommands {
  readonly #wheel: TimerWheel;
  /** null while no command is pending, which is the usual state. */
  #pending: Map<string, Pending> | null = null;

  constructor(wheel: TimerWheel) {
    this.#wheel = wheel;
  }

  /**
   * @param send sends the command over the link; returns false when that is not possible
   * @returns the result; never rejects
   */
  start(id: string, timeoutMs: number, send: () => boolean): Promise<CommandResult> {
    if ((this.#pending?.size ?? 0) >= MAX_PENDING || !send()) {
      return Promise.resolve({ kind: 'not_connected', sent: false });
    }
    return new Promise((resolve) => {
      const deadline = this.#wheel.schedule(timeoutMs, () => {
        this.#take(id);
        resolve({ kind: 'timeout' });
      });
      this.#pending ??= new Map();
      this.#pending.set(id, { settle: resolve, deadline });
    });
  }

  acked(ack: Ack): void {
    const pending = this.#take(ack.id);
    if (pending === undefined) return;
    pending.deadline.cancel();
    if (!ack.ok) {
      pending.settle({ kind: 'refused', code: ack.code ?? 'internal', error: ack.error ?? '' });
      return;
    }
    pending.settle({ kind: 'ok', ...(ack.preflight && { preflight: ack.preflight }) });
  }

  /** The link is lost: sent commands may or may not have arrived. */
  linkLost(): void {
    const lost = this.#pending;
    this.#pending = null;
    for (const pending of lost?.values() ?? []) {
      pending.deadline.cancel();
      pending.settle({ kind: 'not_connected', sent: true });
    }
  }

  #take(id: string): Pending | undefined {
    const pending = this.#pending?.get(id);
    this.#pending?.delete(id);
    if (this.#pending?.size === 0) this.#pending = null;
    return pending;
  }
}
