import type { Clock } from '@footlight/platform';
import type { Server } from '../platform/http/server.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { createSessionGate } from './access/session-gate.ts';
import type { Sessions } from './service.ts';

/** Registers the routes for viewers' reports. */
export function registerViewerReportRoutes(
  server: Server,
  sessions: Sessions,
  { telemetry: { ingest }, clock }: { telemetry: Telemetry; clock: Clock },
): void {
  const admitStats = createSessionGate(sessions, clock);
  const admitEvents = createSessionGate(sessions, clock);
  const admitClock = createSessionGate(sessions, clock);

  server.handle('sessions.stats', async ({ caller, params, body }) => {
    const session = await admitStats(caller, params.id);
    await sessions.viewerReported(caller, session, ingest.stats(session, body));
    return { status: 202 };
  });

  server.handle('sessions.traceEvents', async ({ caller, params, body }) => {
    const session = await admitEvents(caller, params.id);
    const picture = ingest.events(session, body);
    if (picture !== null) sessions.seen(session.id, picture.sinceLaunchMs);
    return { status: 202 };
  });

  server.handle('sessions.traceClock', async ({ caller, params, body }) => {
    ingest.clock(await admitClock(caller, params.id), body);
    return { status: 202 };
  });
}
