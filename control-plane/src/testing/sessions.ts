import { DAY_MS } from '@footlight/platform';
import type { SessionStateName } from '@footlight/protocol';
import type { Executor } from '../platform/database/index.ts';
import type { TestApp } from './app.ts';

/** A session that never ran. */
export interface SessionFacts {
  appId: string;
  userId: string;
  state: SessionStateName;
  /** Needed in the states that hold a place there. */
  hostId?: string;
  /** How long ago it was created. */
  ageDays?: number;
  /** Epoch milliseconds; wins over ageDays. */
  createdAtMs?: number;
  startedAtMs?: number;
  endedAtMs?: number;
  /** Left out: launched from no known device. */
  deviceId?: string;
  /** The rung that it resolved to; left out: none was in force. */
  streamProfileId?: string;
}

/**
 * Writes a session, for suites about what sessions say or stand in the way of.
 * @param db the transaction to write in; left out: one of its own
 * @returns its id
 */
export async function addSession(
  app: TestApp,
  session: SessionFacts,
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

/** Writes a host that no agent stands behind. @returns its id */
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
