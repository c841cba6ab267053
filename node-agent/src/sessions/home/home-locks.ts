import type { Clock, Timer } from '@footlight/platform';

interface Waiter {
  grant(release: () => void): void;
}

/**
 * Locks of homes: on this host, at most one session uses a home. A session locks its home before it starts any process,
 * and releases the lock after its last process has ended. Later sessions wait in order.
 */
export class HomeLocks {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isHeld(ref: string): boolean {
    return this.#waiting.has(ref);
  }

  /** Homes that are locked now. */
  get taken(): string[] {
    return [...this.#waiting.keys()];
  }

  /** A locked home that contains this home or is inside it; null: there is none. */
  nestedWith(ref: string): string | null {
    return this.taken.find((held) => held.startsWith(`${ref}/`) || ref.startsWith(`${held}/`)) ?? null;
  }

  /** @returns a function that releases the lock; null: the home is locked */
  tryTake(ref: string): (() => void) | null {
    if (this.#waiting.has(ref)) return null;
    this.#waiting.set(ref, []);
    return this.#releaser(ref);
  }

  /** Waits for the lock of a home. @returns null when limitMs passed or givenUp was aborted first */
  take(ref: string, limitMs: number, givenUp: AbortSignal): Promise<(() => void) | null> {
    const free = this.tryTake(ref);
    if (free) return Promise.resolve(free);
    return new Promise((resolve) => {
      const queue = this.#waiting.get(ref) ?? [];
      let timer: Timer | null = null;
      const leave = () => {
        const index = queue.indexOf(waiter);
        if (index >= 0) queue.splice(index, 1);
        settle(null);
      };
      const settle = (release: (() => void) | null) => {
        timer?.cancel();
        givenUp.removeEventListener('abort', leave);
        resolve(release);
      };
      const waiter: Waiter = { grant: settle };
      queue.push(waiter);
      timer = this.#clock.setTimeout(leave, limitMs);
      if (givenUp.aborted) leave();
      else givenUp.addEventListener('abort', leave);
    });
  }

  #releaser(ref: string): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiting.get(ref)?.shift();
      if (next) next.grant(this.#releaser(ref));
      else this.#waiting.delete(ref);
    };
  }
}
