import type { Clock } from '@footlight/platform';
import type { Server } from '../../platform/http/server.ts';
import type { Recordings } from '../../recordings/index.ts';
import type { Telemetry } from '../../telemetry/index.ts';
import { createSessionGate } from '../access/session-gate.ts';
import type { Sessions } from '../service.ts';

/** Registers the routes that say what limited a session. */
export function registerVerdictRoutes(
  server: Server,
  sessions: Sessions,
  { recordings, telemetry, clock }: { recordings: Recordings; telemetry: Telemetry; clock: Clock },
): void {
  const admit = createSessionGate(sessions, clock);

  server.handle('sessions.verdict', async ({ caller, params, query }) => ({
    status: 200,
    body: await telemetry.verdict(await admit(caller, params.id), query),
  }));

  server.handle('admin.sessions.verdict', async ({ caller, params, query }) => {
    const body = await telemetry.verdict(await sessions.read(caller, params.id), query);
    // What an administrator looks into because something was wrong is kept before the minute is over.
    if (body.verdict !== 'nominal' && body.verdict !== 'unknown')
      void recordings.freezeOnce(params.id, caller.userId);
    return { status: 200, body };
  });
}
