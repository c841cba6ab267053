import type { Capture, SessionVerdict } from '@footlight/protocol/rest';
import type { ReliableEvent } from '../fleet/index.ts';
import type { Tx } from '../platform/database/index.ts';
import { flag, toJson } from '../platform/database/index.ts';
import type { SessionTraceEventsTable } from '../platform/database/tables/telemetry.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { type Bundles, createBundles } from './bundle/bundle.ts';
import { captureRecord, isCapture, storedCapture } from './capture-payload.ts';
import { findCapture } from './capture-store.ts';
import { TelemetryBuffer } from './ingest/buffer.ts';
import { createIngest, type Ingest } from './ingest/ingest.ts';
import { insertEvents } from './ingest/ingest-store.ts';
import { createRetention, type KeptLimits } from './retention/retention.ts';
import { type JudgedSession, loadFacts } from './trace/facts-store.ts';
import { createTraceReads, type TraceReads } from './trace/reads.ts';
import type { Sample } from './trace/series.ts';
import { loadHostSamples } from './trace/trace-store.ts';
import { type WindowEnds, windowOf } from './trace/window.ts';
import { decideVerdict } from './verdict/verdict.ts';

/** Stores and reads the reports of hosts and viewers about sessions, with the configured retention. */
export interface Telemetry extends Bundles {
  readonly ingest: Ingest;
  readonly reads: TraceReads;
  /**
   * Stores events of this host's sessions in a transaction that may be retried. Repeated events change nothing.
   * @param events at least one
   */
  storeEvents(
    tx: Tx,
    source: { hostId: string; bootId: string },
    events: readonly ReliableEvent[],
  ): Promise<void>;
  /** The newest 1,000 samples of the session's host, oldest first. */
  hostSamples(sessionId: string): Promise<Sample[]>;
  /** The verdict: what limited a session. @param asked ends of the window, ms; undefined: missing or malformed */
  verdict(session: JudgedSession, asked: WindowEnds): Promise<SessionVerdict>;
  /**
   * Result of a capture. @throws ApiError 404: the capture is unknown, belongs to another session, or has not arrived
   * yet
   */
  capture(sessionId: string, captureId: string): Promise<Capture>;
  /** Later reports are dropped. */
  close(): void;
}

/** @param kept bounds of the stored telemetry; tests lower them */
export function createTelemetry(platform: Platform, kept?: Partial<KeptLimits>): Telemetry {
  const { clock, database, logger, periodicWriter } = platform;
  const retention = createRetention(platform, kept);
  const buffer = new TelemetryBuffer({ logger, database, retention, periodicWriter });
  const flush = () => periodicWriter.flush();

  async function store(tx: Tx, events: readonly SessionTraceEventsTable[]): Promise<void> {
    await insertEvents(tx, events);
    await retention.trim(tx, { events, samples: [] });
  }

  return {
    ingest: createIngest(platform, buffer),
    reads: createTraceReads(platform, { flush, store }),
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
      // First write the newest second, which still waits in memory.
      await flush();
      return loadHostSamples(database.db, sessionId);
    },
    async verdict(session, asked) {
      // First write the newest second, which still waits in memory.
      await flush();
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
    ...createBundles(platform, flush),
    close: () => buffer.close(),
  };
}
