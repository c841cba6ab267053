import { DAY_MS } from '@footlight/platform';
import type { SessionStateName } from '@footlight/protocol';
import type { Executor } from '../platform/database/index.ts';
import type { TestApp } from './app.ts';

/** Values of the row of a session that never ran. */
export interface SessionColumns {
  appId: string;
  userId: string;
  state: SessionStateName;
  /** Required in states that reserve slots on a host. */
  hostId?: string;
  /** Age in days. */
  ageDays?: number;
  /** Creation time in epoch milliseconds; takes precedence over ageDays. */
  createdAtMs?: number;
  startedAtMs?: number;
  endedAtMs?: number;
  /** Default: no known device. */
  deviceId?: string;
  /** Stream profile of the launch; default: none. */
  streamProfileId?: string;
}

/**
 * Inserts a session.
 * @param db transaction for the insert; default: a separate one
 * @returns id of the session
 */
export async function addSession(
  app: TestApp,
  session: SessionColumns,
  db: Executor = app.plane.platform.database.db,
): Promise<string> {
  const { random } = app.plane.platform;
  const createdAt = session.createdAtMs ?? app.clock.nowMs() - (session.ageDays ?? 0) * DAY_MS;
  const id = random.uuid();
  await db
    .insertInto('sessions')
    .values({
      id,
      host_id: session.hostId ?? null,
      user_id: session.userId,
      app_id: session.appId,
      device_id: session.deviceId ?? null,
      state: session.state,
      stream_profile_id: session.streamProfileId ?? null,
      video_topology: 'stream_only',
      encode_slots: 1,
      encoder: 'openh264',
      stream_width: 1280,
      stream_height: 720,
      stream_fps: 30,
      stream_bitrate_kbps: 3000,
      stream_abr_floor_kbps: 0,
      stream_codec: 'h264',
      stream_h264_profile: 'constrained-baseline',
      stream_playout0_ms: 0,
      stream_mic: 0,
      stream_recording: 0,
      relay_ready: 0,
      created_at: createdAt,
      started_at: session.startedAtMs ?? null,
      ended_at: session.endedAtMs ?? null,
      updated_at: createdAt,
    })
    .execute();
  return id;
}

/** Inserts a host without an agent. @returns id of the host */
export async function addHost(app: TestApp, nodeName: string): Promise<string> {
  const { database, random } = app.plane.platform;
  const id = random.uuid();
  await database.db
    .insertInto('hosts')
    .values({
      id,
      node_name: nodeName,
      status: 'offline',
      capacity_detection: 'unavailable',
      secret_hash: `none-${id}`,
      drain_intent: 0,
      features: '[]',
      settings_overrides: '{}',
      pending_restart: 0,
      created_at: app.clock.nowMs(),
    })
    .execute();
  return id;
}
