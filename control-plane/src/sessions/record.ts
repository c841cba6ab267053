/** Converts session rows into API records. Pure. */

import type { AppLaunchState } from '@footlight/protocol';
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { AdminSession, Session } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { bool, fromJson, instant, instantOrNull } from '../platform/database/codec.ts';
import type { HostsTable } from '../platform/database/tables/fleet.ts';
import type { SessionsTable } from '../platform/database/tables/sessions.ts';
import type { SessionChange } from '../signaling/index.ts';
import type { ViewerReport } from '../telemetry/index.ts';
import { displayRecord, type ObservedDisplay } from './display/display.ts';
import { type KnownHealth, shownHealth } from './health/shown-health.ts';
import { UNSUSTAINABLE } from './life/state.ts';
import { rungsOf } from './stream/stream.ts';

export type SessionRow = Selectable<SessionsTable>;

/** In-memory observations of a running session. */
export interface Observed extends KnownHealth {
  app_launch_state?: AppLaunchState;
  /** Picture size from the newest report. */
  display?: ObservedDisplay;
  /**
   * Time when the host ends the session if no viewer connects, epoch ms; null: no idle timer runs; missing: unknown.
   */
  idle_ends_at?: number | null;
  /** Newest sample of the agent. */
  metrics?: Pick<SessionMetrics, 'ts' | 'metrics'>;
  /** Newest sample of the viewer. */
  viewer?: NonNullable<ViewerReport['sample']>;
}

/** @param observed undefined: nothing was observed since this process started */
export function sessionRecord(row: SessionRow, observed: Observed | undefined): Session {
  const launchState = observed?.app_launch_state;
  return {
    id: row.id,
    user_id: row.user_id,
    app_id: row.app_id,
    host_id: row.host_id,
    state: row.state,
    state_detail: row.state_detail,
    error_message: row.error_message,
    failure_code: row.failure_code,
    end_reason: row.end_reason,
    app_log_tail: row.app_log_tail,
    profile_id: row.profile_id,
    stream_profile_id: row.stream_profile_id,
    stream: {
      width: row.stream_width,
      height: row.stream_height,
      fps: row.stream_fps,
      bitrate_kbps: row.stream_bitrate_kbps,
      h264_profile: row.stream_h264_profile,
      codec: row.stream_codec,
      playout0_ms: row.stream_playout0_ms,
      mic: bool(row.stream_mic),
      recording: bool(row.stream_recording),
      rungs: rungsOf(row.stream_width, row.stream_height),
      ...displayRecord(row, observed?.display),
    },
    codec_decision: row.codec_decision === null ? null : fromJson(row.codec_decision),
    negotiated_codec: row.negotiated_codec,
    ...healthRecord(row, observed),
    ...(launchState !== undefined && { app_launch_state: launchState }),
    ...(row.state === 'running' &&
      observed?.idle_ends_at !== undefined && { idle_ends_at: instantOrNull(observed.idle_ends_at) }),
    ...(row.video_topology !== 'stream_only' && { video_topology: row.video_topology }),
    created_at: instant(row.created_at),
    started_at: instantOrNull(row.started_at),
    ended_at: instantOrNull(row.ended_at),
  };
}

/** health_state and health_reason; both are missing without a verdict or after a stop. */
function healthRecord(
  { state, failure_code, error_message }: SessionRow,
  observed: Observed | undefined,
): Pick<Session, 'health_state' | 'health_reason'> {
  if (state === 'failed')
    return {
      health_state: failure_code === UNSUSTAINABLE ? UNSUSTAINABLE : 'failed',
      ...(error_message !== null && { health_reason: error_message }),
    };
  return shownHealth(observed ?? {});
}

/** Fields of a live session's record that come from observations. */
export const observedRecord = (observed: Observed): NonNullable<SessionChange['observed']> => ({
  ...shownHealth(observed),
  ...(observed.app_launch_state !== undefined && { app_launch_state: observed.app_launch_state }),
});

/** Names of the rows that a session refers to, and the host's status; null for deleted rows. */
export interface AdminNames {
  username: string | null;
  app_name: string | null;
  host_name: string | null;
  host_status: HostsTable['status'] | null;
}

export function adminSessionRecord(
  row: SessionRow & AdminNames,
  observed: Observed | undefined,
): AdminSession {
  const { metrics, viewer } = observed ?? {};
  return {
    ...sessionRecord(row, observed),
    latest_metrics: {
      ...(metrics !== undefined && {
        agent: { source: 'agent', ts_unix_ms: metrics.ts, metrics: numbersOf(metrics.metrics) },
      }),
      ...(viewer !== undefined && { browser: { ...viewer, metrics: numbersOf(viewer.metrics) } }),
    },
    ...(row.username !== null && { username: row.username }),
    ...(row.app_name !== null && { app_name: row.app_name }),
    ...(row.host_name !== null && { host_name: row.host_name }),
    ...(row.host_status !== null && { host_status: row.host_status }),
  };
}

/** Numeric metrics: booleans become 0 and 1, texts are omitted. */
function numbersOf(metrics: Readonly<Record<string, number | boolean | string>>): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [key, value] of Object.entries(metrics)) {
    if (typeof value === 'number') numbers[key] = value;
    else if (typeof value === 'boolean') numbers[key] = value ? 1 : 0;
  }
  return numbers;
}
