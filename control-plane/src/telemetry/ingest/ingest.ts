import type { SessionMetrics, SessionTraceEvent } from '@footlight/protocol/agent';
import type { Body } from '@footlight/protocol/rest';
import { type ClientMetrics, isBrowserEvent, isNetworkPath } from '@footlight/protocol/telemetry';
import { createTokenBuckets } from '../../platform/buckets/token-buckets.ts';
import { flag, toJson } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { firstFrameMs } from '../bundle/bundle-parts.ts';
import { isCapture } from '../capture-payload.ts';
import type { TelemetryBuffer } from './buffer.ts';
import {
  allowedMetrics,
  codecsNewestFirst,
  sortByTime,
  type ViewerSecond,
  viewerSeconds,
} from './client-samples.ts';
import type { RejectedTime } from './timestamps.ts';

/**
 * Limit on the samples of a session from its host: it sends one per heartbeat interval, one per second in a bench, and
 * the newest 24 at once after a reconnect.
 */
const HOST_SAMPLES = { capacity: 32, refillEveryMs: 500 };
/**
 * Limit on the lossy events of a session from its host: a media worker may pass on 10 per second, and up to 256 wait
 * for a reconnect.
 */
const HOST_EVENTS = { capacity: 512, refillEveryMs: 100 };
/** Limit on the lossy events of all sessions that are not known to run on the host, counted together. */
const UNKNOWN_EVENTS = { capacity: 64, refillEveryMs: 100 };
/** Longest stored sample of a host, bytes of JSON: the known keys take 1,600. Larger ones are dropped. */
const MAX_HOST_SAMPLE_BYTES = 4_096;

/** The session of a post. */
export interface ReportedSession {
  readonly id: string;
  readonly user_id: string;
  readonly host_id: string | null;
}

/** The part of a post that describes the present state of its session. */
export interface ViewerReport {
  /** The newest stored sample; null: none. */
  sample: { source: 'browser' | 'native'; ts_unix_ms: number; metrics: ClientMetrics } | null;
  /** MIME types of the codecs that the viewer decodes, the newest first. */
  codecs: readonly string[];
  /** The viewer's playback health, the oldest second first. */
  seconds: readonly ViewerSecond[];
}

/** A picture that a viewer saw. sinceLaunchMs: time since the booking, as the viewer reports it; null: not reported. */
export interface FirstPicture {
  sinceLaunchMs: number | null;
}

/** Puts reports into the buffer. */
export interface Ingest {
  stats(session: ReportedSession, body: Body<'sessions.stats'>): ViewerReport;
  /** @returns the first picture that is not empty, if the viewer saw it now */
  events(session: ReportedSession, body: Body<'sessions.traceEvents'>): FirstPicture | null;
  clock(session: ReportedSession, body: Body<'sessions.traceClock'>): void;
  /** @param metrics of a session that this host runs */
  hostSample(hostId: string, metrics: SessionMetrics): void;
  /**
   * An event of the lossy lane.
   * @param isOwn whether the host is known to run the session; otherwise the database is checked
   */
  hostEvent(hostId: string, event: SessionTraceEvent, isOwn: boolean): void;
}

export function createIngest({ clock, random }: Platform, buffer: TelemetryBuffer): Ingest {
  const samplesOfHosts = createTokenBuckets(HOST_SAMPLES, clock);
  const eventsOfHosts = createTokenBuckets(HOST_EVENTS, clock);
  const unknownEvents = createTokenBuckets(UNKNOWN_EVENTS, clock);
  /** Identifies events that have no number from an agent. */
  const processId = random.uuid();
  let seq = 0;

  function addEvent(
    event: {
      session_id: string;
      host_id: string;
      source: 'agent' | 'browser';
      ts: number;
      type: string;
      payload: object;
    },
    personId: string | null,
    isFromHost: boolean,
  ): void {
    seq += 1;
    buffer.event(
      {
        host_id: event.host_id,
        boot_id: processId,
        seq,
        session_id: event.session_id,
        source: event.source,
        ts_unix_ms: event.ts,
        type: event.type,
        payload: toJson(event.payload),
        is_capture: flag(isCapture(event.type)),
        received_at: clock.nowMs(),
      },
      personId,
      isFromHost,
    );
  }

  function reject(
    { id: session_id, user_id }: ReportedSession,
    rejected: readonly { ts: number; cause: RejectedTime }[],
  ): void {
    const last_at = clock.nowMs();
    for (const { ts, cause } of rejected)
      buffer.rejected({ session_id, cause, count: 1, last_ts: ts, last_at }, user_id);
  }

  return {
    stats(session, { client, samples }) {
      const nowMs = clock.nowMs();
      const { taken, rejected } = sortByTime(samples, nowMs);
      reject(session, rejected);
      let newest: ViewerReport['sample'] = null;
      for (const { ts_unix_ms, metrics: sent, path } of taken) {
        const metrics = allowedMetrics(sent);
        if (metrics === null) continue;
        if (newest === null || ts_unix_ms >= newest.ts_unix_ms)
          newest = { source: client, ts_unix_ms, metrics };
        const row = {
          session_id: session.id,
          source: client,
          ts_unix_ms,
          host_id: session.host_id ?? '',
          metrics: toJson(isNetworkPath(path) ? { ...metrics, path } : metrics),
          received_at: nowMs,
        };
        buffer.sample(row, session.user_id);
      }
      return { sample: newest, codecs: codecsNewestFirst(taken), seconds: viewerSeconds(taken) };
    },

    events(session, { events }) {
      const { taken, rejected } = sortByTime(events, clock.nowMs());
      reject(session, rejected);
      for (const { ts_unix_ms, type, payload } of taken) {
        if (!isBrowserEvent(type)) continue;
        const host_id = session.host_id ?? '';
        addEvent(
          { session_id: session.id, host_id, source: 'browser', ts: ts_unix_ms, type, payload },
          session.user_id,
          false,
        );
      }
      const picture = taken.find(
        ({ type, payload }) => type === 'client.first_frame' && payload.flat !== true,
      );
      return picture === undefined ? null : { sinceLaunchMs: firstFrameMs(picture.payload) };
    },

    clock(session, { client_offset_ms, uncertainty_ms }) {
      const measured_at = clock.nowMs();
      buffer.clock(
        { session_id: session.id, client_offset_ms, uncertainty_ms, measured_at },
        session.user_id,
      );
    },

    hostSample(hostId, { session_id, ts, metrics }) {
      if (samplesOfHosts.tryTake(session_id) > 0) return;
      const text = toJson(metrics);
      if (Buffer.byteLength(text) > MAX_HOST_SAMPLE_BYTES) return;
      const row = {
        session_id,
        source: 'agent' as const,
        ts_unix_ms: ts,
        host_id: hostId,
        metrics: text,
        received_at: clock.nowMs(),
      };
      buffer.sample(row, null);
    },

    hostEvent(hostId, { session_id, ts, event: type, payload }, isOwn) {
      const wait = isOwn ? eventsOfHosts.tryTake(session_id) : unknownEvents.tryTake(hostId);
      if (wait > 0) return;
      addEvent({ session_id, host_id: hostId, source: 'agent', ts, type, payload }, null, !isOwn);
    },
  };
}
