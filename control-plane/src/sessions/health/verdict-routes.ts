import { type Clock, MINUTE_MS } from '@footlight/platform';
import type { Server } from '../../platform/http/server.ts';
import type { Recordings } from '../../recordings/index.ts';
import type { Telemetry } from '../../telemetry/index.ts';
import { createSessionGate } from '../access/session-gate.ts';
import type { Sessions } from '../service.ts';

/** Length of the recording ring on a host. For a verdict about an earlier time there is nothing to record. */
const RING_MS = MINUTE_MS;

/** Registers the routes that report what limited a session. */
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
    // An administrator who requests a verdict probably investigates a current fault, so the last minute is recorded
    // before the ring overwrites it.
    const isBad = body.verdict !== 'nominal' && body.verdict !== 'unknown';
    if (isBad && clock.nowMs() - body.window.to_ms < RING_MS)
      void recordings.freezeOnce(params.id, 'verdict', caller.userId);
    return { status: 200, body };
  });
}
