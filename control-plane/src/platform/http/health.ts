import { type Clock, SECOND_MS, within } from '@footlight/platform';
import type { Database } from '../database/index.ts';
import type { Server } from './server.ts';

/** Longest wait for the database. */
const PING_LIMIT_MS = SECOND_MS;

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
    const healthy = await within(clock, PING_LIMIT_MS, answers(), false);
    return healthy
      ? { status: 200, body: { status: 'ok', db: 'ok' } as const }
      : { status: 503, body: { status: 'degraded', db: 'error' } as const };
  });
}
