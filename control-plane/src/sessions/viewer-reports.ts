import type { Clock } from '@footlight/platform';
import { createTokenBuckets, type TokenBuckets } from '../platform/buckets/token-buckets.ts';
import { ApiError } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Server } from '../platform/http/server.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { SessionRow } from './record.ts';
import type { Sessions } from './service.ts';

/** Posts of one session to one of the endpoints. */
const POSTS = { capacity: 10, refillEveryMs: 2_000 };
const RETRY_AFTER_SECS = 2;

/** Registers the routes by which viewers report what they measure and see. */
export function registerViewerReportRoutes(
  server: Server,
  sessions: Sessions,
  { telemetry: { ingest }, clock }: { telemetry: Telemetry; clock: Clock },
): void {
  const stats = createTokenBuckets(POSTS, clock);
  const events = createTokenBuckets(POSTS, clock);
  const clocks = createTokenBuckets(POSTS, clock);

  /** Checks the rights before the rate, so that strangers use up nobody's. */
  async function admit(caller: Caller, id: string, posts: TokenBuckets): Promise<SessionRow> {
    const session = await sessions.read(caller, id);
    if (posts.tryTake(session.id) > 0)
      throw new ApiError('rate_limited', { retryAfterSecs: RETRY_AFTER_SECS });
    return session;
  }

  server.handle('sessions.stats', async ({ caller, params, body }) => {
    const session = await admit(caller, params.id, stats);
    await sessions.viewerReported(session, ingest.stats(session, body));
    return { status: 202 };
  });

  server.handle('sessions.traceEvents', async ({ caller, params, body }) => {
    ingest.events(await admit(caller, params.id, events), body);
    return { status: 202 };
  });

  server.handle('sessions.traceClock', async ({ caller, params, body }) => {
    ingest.clock(await admit(caller, params.id, clocks), body);
    return { status: 202 };
  });
}
