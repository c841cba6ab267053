import { type Clock, SECOND_MS } from '@footlight/platform';
import type { Database } from '../database/index.ts';
import type { Server } from './server.ts';

/** Longest wait for the database. */
const PING_LIMIT_MS = SECOND_MS;
const NO_STORE = { 'cache-control': 'no-store' };

/**
 * GET /health: 200 if the database answers a one-row read, else 503. Concurrent callers share one read and one
 * connection.
 */
export function registerHealth(
  server: Server,
  { database, clock }: { database: Database; clock: Clock },
): void {
  let inFlight: Promise<boolean> | null = null;

  function answers(): Promise<boolean> {
    inFlight ??= database
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        inFlight = null;
      });
    return inFlight;
  }

  server.handle('health', async () => {
    const healthy = await within(clock, answers());
    return healthy
      ? { status: 200, body: { status: 'ok', db: 'ok' } as const, headers: NO_STORE }
      : { status: 503, body: { status: 'degraded', db: 'error' } as const, headers: NO_STORE };
  });
}

function within(clock: Clock, answer: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const deadline = clock.setTimeout(() => resolve(false), PING_LIMIT_MS);
    void answer.then((healthy) => {
      deadline.cancel();
      resolve(healthy);
    });
  });
}
