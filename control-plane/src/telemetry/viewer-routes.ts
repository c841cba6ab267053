import type { Caller } from '../platform/http/message/contract.ts';
import type { Server } from '../platform/http/server.ts';
import type { Ingest, ReportedSession, ViewerReport } from './ingest/ingest.ts';

/** The part of the sessions feature that these routes use. */
export interface WatchedSessions<Session extends ReportedSession> {
  /**
   * Creates the gate of one endpoint, which checks the access and has its own rate limit. The gate throws ApiError 403,
   * 404, 429.
   */
  openGate(): (caller: Caller, id: string) => Promise<Session>;
  /** A viewer's samples were collected. */
  reported(caller: Caller, session: Session, report: ViewerReport): Promise<void>;
  /** A viewer saw the app's first picture. @param sinceLaunchMs as the viewer reports it; null: not reported */
  seen(sessionId: string, sinceLaunchMs: number | null): void;
}

/** Registers the routes of reports from viewers. */
export function registerViewerReportRoutes<Session extends ReportedSession>(
  server: Server,
  ingest: Ingest,
  sessions: WatchedSessions<Session>,
): void {
  const admitStats = sessions.openGate();
  const admitEvents = sessions.openGate();
  const admitClock = sessions.openGate();

  server.handle('sessions.stats', async ({ caller, params, body }) => {
    const session = await admitStats(caller, params.id);
    await sessions.reported(caller, session, ingest.stats(session, body));
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
