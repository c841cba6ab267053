import type { Clock } from '@footlight/platform';
import { type Database, databaseAnswers } from '../database/index.ts';
import type { Server } from './server.ts';

export interface Health {
  /**
   * From this call on /health/ready answers 503, so that load balancers use other replicas. The other two routes do not
   * change.
   */
  drain(): void;
}

/**
 * GET /health: 200 if the database answers, else 503. GET /health/live: 200 as long as the process answers. GET
 * /health/ready: like /health, but 503 while the service drains.
 */
export function registerHealth(
  server: Server,
  { database, clock }: { database: Database; clock: Clock },
): Health {
  const answers = databaseAnswers(database, clock);
  let draining = false;

  server.handle('health', async () =>
    (await answers())
      ? { status: 200, body: { status: 'ok', db: 'ok' } as const }
      : { status: 503, body: { status: 'degraded', db: 'error' } as const },
  );
  server.handle('health.live', async () => ({ status: 200, body: { status: 'ok' } as const }));
  server.handle('health.ready', async () => {
    const healthy = await answers();
    if (healthy && !draining) return { status: 200, body: { status: 'ok', db: 'ok' } as const };
    return {
      status: 503,
      body: { status: draining ? 'draining' : 'degraded', db: healthy ? 'ok' : 'error' } as const,
    };
  });
  return {
    drain() {
      draining = true;
    },
  };
}
