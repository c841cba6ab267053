import type { Ack } from '@footlight/protocol/agent';
import type { Timer } from '../platform/clock.ts';
import type { CommandResult } from './ports.ts';
import type { TimerWheel } from './timer-wheel.ts';

/** Commands of one link that wait for their ack. More than an agent can be sent would wait for nothing. */
const MAX_PENDING = 2_048;

interface Pending {
  settle: (result: CommandResult) => void;
  deadline: Timer;
}

/**
 * Pairs commands with their acks. Each command is settled exactly once: by its ack, its deadline, or the end of the
 * link. An ack for an unknown id (repeated, or too late) changes nothing.
 */
export class PendingCommands {
  readonly #wheel: TimerWheel;
  readonly #pending = new Map<string, Pending>();

  constructor(wheel: TimerWheel) {
    this.#wheel = wheel;
  }

  /**
   * @param send puts the command on the link; false when it cannot be sent
   * @returns what became of it; never rejects
   */
  start(id: string, timeoutMs: number, send: () => boolean): Promise<CommandResult> {
    if (this.#pending.size >= MAX_PENDING || !send()) {
      return Promise.resolve({ kind: 'not_connected', sent: false });
    }
    return new Promise((resolve) => {
      const deadline = this.#wheel.schedule(timeoutMs, () => {
        this.#pending.delete(id);
        resolve({ kind: 'timeout' });
      });
      this.#pending.set(id, { settle: resolve, deadline });
    });
  }

  acked(ack: Ack): void {
    const pending = this.#pending.get(ack.id);
    if (pending === undefined) return;
    this.#pending.delete(ack.id);
    pending.deadline.cancel();
    pending.settle(
      ack.ok ? { kind: 'ok' } : { kind: 'refused', code: ack.code ?? 'internal', error: ack.error ?? '' },
    );
  }

  /** The link is gone: whatever was sent may or may not have been taken. */
  linkLost(): void {
    for (const pending of this.#pending.values()) {
      pending.deadline.cancel();
      pending.settle({ kind: 'not_connected', sent: true });
    }
    this.#pending.clear();
  }
}
