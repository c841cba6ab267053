import type { JsonObject } from '@footlight/protocol';
import type { DiagnosticBundle, Trace } from '@footlight/protocol/rest';
import { fromJson, instant, instantOrNull, toJson } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { captureRecord, withoutResult } from '../capture-payload.ts';
import { type CaptureKey, listCaptures, loadCapture } from '../capture-store.ts';
import { loadFacts } from '../trace/facts-store.ts';
import { clockRecord, loadClock, loadEvents, shiftOf } from '../trace/trace-store.ts';
import { type WindowEnds, windowOf } from '../trace/window.ts';
import { deriveWindows } from '../verdict/derived-windows.ts';
import { decideVerdict } from '../verdict/verdict.ts';
import { firstFrameMs, ingestOf, keptCaptures } from './bundle-parts.ts';
import {
  type BundledSession,
  findBundledSession,
  loadFirstPicture,
  loadRejectedTimes,
} from './bundle-store.ts';
import { bundledPayload } from './bundled-events.ts';

const FORMAT = 1;
/** Maximum length of a bundle. If it would be longer, results of captures are left out, oldest first. */
const MAX_BUNDLE_BYTES = 32 * 1024 * 1024;

/**
 * Longest payload of an event that is read, in bytes: viewers may post up to 32 KiB, and longer events are results of
 * captures.
 */
const MAX_PAYLOAD_BYTES = 32 * 1024;

/** A bundle without its captures, in the order of the document. */
type Head = Omit<DiagnosticBundle, 'captures'>;

export interface Bundles {
  /** The diagnostic bundle of a session and a window as a JSON document in parts. @throws ApiError 404 */
  bundle(sessionId: string, asked: WindowEnds): Promise<AsyncIterable<string>>;
}

/**
 * Creates diagnostic bundles. A bundle is created while it is sent, one capture after another, because all captures
 * together may need 32 MiB of memory.
 */
export function createBundles(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  flush: () => Promise<void>,
): Bundles {
  const { db } = database;

  async function headOf(session: BundledSession, asked: WindowEnds, nowMs: number): Promise<Head> {
    const { id, host_id, profile_id, started_at, ended_at } = session;
    const window = windowOf(asked, ended_at, nowMs);
    const measured = await loadClock(db, id);
    const [facts, events, firstPicture, rejected] = await Promise.all([
      loadFacts(db, session, window),
      loadEvents(db, id, window, shiftOf(measured), { maxPayloadBytes: MAX_PAYLOAD_BYTES }),
      loadFirstPicture(db, id),
      loadRejectedTimes(db, id),
    ]);
    const ingest = ingestOf(rejected);
    return {
      format: FORMAT,
      generated_at: instant(nowMs),
      trace: {
        session_id: id,
        host_id,
        profile_id,
        started_at: instantOrNull(started_at),
        ended_at: instantOrNull(ended_at),
        first_frame_ms: firstFrameMs(
          firstPicture === undefined ? undefined : fromJson<JsonObject>(firstPicture),
        ),
      },
      window,
      clock: clockRecord(measured),
      series: facts.series as Trace['series'],
      events: events.map((event) => ({ ...event, payload: bundledPayload(event.type, event.payload) })),
      derived_windows: deriveWindows(facts),
      classifier: decideVerdict(facts),
      ...(ingest !== undefined && { ingest }),
    };
  }

  async function* parts(head: string, keys: readonly CaptureKey[]): AsyncGenerator<string> {
    const kept = keptCaptures(
      keys.map(({ bytes }) => bytes),
      MAX_BUNDLE_BYTES - Buffer.byteLength(head),
    );
    yield `${head.slice(0, -1)},"captures":[`;
    let separator = '';
    for (const [n, key] of keys.entries()) {
      const stored = await loadCapture(db, key);
      const capture = stored === undefined ? null : captureRecord(stored);
      if (capture === null) continue;
      yield `${separator}${toJson(n < kept ? capture : withoutResult(capture))}`;
      separator = ',';
    }
    yield ']}';
  }

  return {
    async bundle(id, asked) {
      const session = await findBundledSession(db, id);
      if (session === undefined) throw new ApiError('not_found', { message: 'There is no such session.' });
      await flush();
      const head = await headOf(session, asked, clock.nowMs());
      return parts(toJson(head), await listCaptures(db, id));
    },
  };
}
