import type { Capture, SessionVerdict } from '@footlight/protocol/rest';
import type { RowsToLock, Tx } from '../platform/database/index.ts';
import { flag, toJson } from '../platform/database/index.ts';
import type { SessionTraceEventsTable } from '../platform/database/tables/telemetry.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { type Bundles, createBundles } from './bundle/bundle.ts';
import { captureRecord, storedCapture } from './captures/capture-payload.ts';
import { findCapture } from './captures/capture-store.ts';
import { TelemetryBuffer } from './ingest/buffer.ts';
import { createIngest, type Ingest } from './ingest/ingest.ts';
import { insertEvents } from './ingest/ingest-store.ts';
import { isCapture, type ReliableEvent } from './reliable-event.ts';
import { createRetention, type KeptLimits } from './retention/retention.ts';
import { type JudgedSession, loadFacts } from './trace/facts-store.ts';
import { createTraceReads, type TraceReads } from './trace/reads.ts';
import type { Sample } from './trace/series.ts';
import { loadHostSamples } from './trace/trace-store.ts';
import { type WindowEnds, windowOf } from './trace/window.ts';
import { decideVerdict } from './verdict/verdict.ts';

export interface TelemetryDeps {
  /** The transaction that is shared with the reports of hosts. */
  write(rows: RowsToLock, work: (tx: Tx) => Promise<void>): Promise<void>;
  /** Bounds of what is kept; tests lower them. */
  kept?: Partial<KeptLimits>;
}

/** What hosts and viewers report of sessions, with the configured retention. */
export interface Telemetry extends Bundles {
  readonly ingest: Ingest;
  readonly reads: TraceReads;
  /**
   * Stores events of this host's sessions in a transaction that may be retried. Repeats change nothing.
   * @param events at least one
   */
  storeEvents(
    tx: Tx,
    source: { hostId: string; bootId: string },
    events: readonly ReliableEvent[],
  ): Promise<void>;
  /** What the host measured of a session, oldest first: at most the newest 1,000. */
  hostSamples(sessionId: string): Promise<Sample[]>;
  /** What limited a session. @param asked ends of the window, ms; undefined: missing or malformed */
  verdict(session: JudgedSession, asked: WindowEnds): Promise<SessionVerdict>;
  /** Result of a capture. @throws ApiError 404: unknown, of another session, or not there yet */
  capture(sessionId: string, captureId: string): Promise<Capture>;
  /** Writes what waits in memory, for a caller that reads it now. Never rejects. */
  flush(): Promise<void>;
  /** Writes what waits in memory. */
  close(): Promise<void>;
}

export function createTelemetry(platform: Platform, deps: TelemetryDeps): Telemetry {
  const { clock, database, logger } = platform;
  const retention = createRetention(platform, deps.kept);
  const buffer = new TelemetryBuffer({ clock, logger, database, retention, write: deps.write });

  async function store(tx: Tx, events: readonly SessionTraceEventsTable[]): Promise<void> {
    await insertEvents(tx, events);
    await retention.trim(tx, { events, samples: [] });
  }

  return {
    ingest: createIngest(platform, buffer),
    reads: createTraceReads(platform, { flush: () => buffer.flush(), store }),
    async storeEvents(tx, { hostId, bootId }, events) {
      const nowMs = clock.nowMs();
      const rows = events.map((event) => ({
        host_id: hostId,
        boot_id: bootId,
        seq: event.seq,
        session_id: event.session_id,
        source: 'agent' as const,
        ts_unix_ms: event.ts,
        type: event.event,
        payload: storedCapture(event.event, event.payload) ?? toJson(event.payload),
        is_capture: flag(isCapture(event.event)),
        received_at: nowMs,
      }));
      await store(tx, rows);
    },
    async hostSamples(sessionId) {
      // Also read the newest second, which waits in memory.
      await buffer.flush();
      return loadHostSamples(database.db, sessionId);
    },
    async verdict(session, asked) {
      // Also judge the newest second, which waits in memory.
      await buffer.flush();
      const window = windowOf(asked, session.ended_at, clock.nowMs());
      return decideVerdict(await loadFacts(database.db, session, window));
    },
    async capture(sessionId, captureId) {
      const stored = await findCapture(database.db, sessionId, captureId);
      const capture = stored === undefined ? null : captureRecord(stored);
      if (capture !== null) return capture;
      throw new ApiError('not_found', {
        message: 'This session has no such capture, or its result has not arrived yet.',
      });
    },
    ...createBundles(platform, () => buffer.flush()),
    flush: () => buffer.flush(),
    close: () => buffer.close(),
  };
}
