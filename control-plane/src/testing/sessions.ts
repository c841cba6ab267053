import { DAY_MS } from '../platform/clock.ts';
import type { TestApp } from './app.ts';

/**
 * Writes a session that never ran, for suites about what sessions stand in the way of.
 * @param ageDays how long ago it was created
 */
export async function addSession(
  app: TestApp,
  session: { appId: string; userId: string; state: 'pending' | 'stopped'; ageDays?: number },
): Promise<void> {
  const { database, random } = app.plane.platform;
  const createdAt = app.clock.nowMs() - (session.ageDays ?? 0) * DAY_MS;
  await database.db
    .insertInto('sessions')
    .values({
      id: random.uuid(),
      user_id: session.userId,
      app_id: session.appId,
      state: session.state,
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
      updated_at: createdAt,
    })
    .execute();
}
