/** Converts a placed launch into the session's row and the agent's command. Pure. */
import { type EncoderFamily, encoderFamily } from '@footlight/protocol';
import {
  type HomeSpec,
  hostSettingByKey,
  launchFloorKbps,
  parseSettingText,
  type SettingValue,
} from '@footlight/protocol/agent';
import { flag, toJson } from '../../platform/database/index.ts';
import type { Assignment } from '../app-spec.ts';
import { withHome } from '../app-spec.ts';
import type { ServingFacts } from '../placement/placement-store.ts';
import type { SessionRow } from '../record.ts';
import type { ServedStream } from '../stream/serve.ts';
import { lowerH264Profile, rungsOf } from '../stream/stream.ts';
import { homeAppOf } from './admission.ts';
import type { PlacedLaunch } from './stages.ts';

const NEVER = 0;

/** The row of a placed launch. */
export function sessionRow(
  id: string,
  { launch, gpu, serving, served: { stream, profileId, rung } }: PlacedLaunch,
  nowMs: number,
): SessionRow {
  const { bench, topology } = launch.terms;
  const encoder: EncoderFamily =
    bench?.encoder ?? encoderFamily.safeParse(serving.encoder).data ?? 'openh264';
  const offered = serving.encoders?.find(
    (row) => row.family === encoder && row.gpu_index === gpu.gpu_index && row.codec === 'h264',
  );
  return {
    id,
    user_id: launch.user.userId,
    app_id: launch.app.id,
    host_id: gpu.host.host_id,
    gpu_id: gpu.gpu_id,
    gpu_index: gpu.gpu_index,
    device_id: launch.user.deviceId,
    state: 'assigned',
    state_detail: null,
    error_message: null,
    failure_code: null,
    end_reason: null,
    stop_reason: null,
    app_log_tail: null,
    home_bytes: null,
    profile_id: profileId,
    stream_profile_id: rung?.rung.id ?? null,
    video_topology: topology,
    encode_slots: launch.demand.encode_slots,
    home_app_id: homeAppOf(launch),
    encoder,
    stream_width: stream.width,
    stream_height: stream.height,
    stream_fps: stream.fps,
    stream_bitrate_kbps: stream.bitrate_kbps,
    stream_abr_floor_kbps: stream.abr_floor_kbps,
    stream_launch_floor_kbps: floorAtLaunch(serving.settings, stream),
    stream_codec: stream.codec,
    stream_h264_profile: lowerH264Profile(stream.h264_profile, offered?.h264_profiles ?? null),
    stream_playout0_ms: stream.playout0_ms,
    stream_mic: flag(launch.mic),
    // A session without an encoder cannot be recorded.
    stream_recording: flag(
      launch.recorder && topology !== 'local_only' && gpu.host.features.includes('recorder'),
    ),
    codec_decision: rung === null ? null : toJson(rung.decision),
    negotiated_codec: null,
    relay_ready: 0,
    swap_app_id: null,
    swap_home_app_id: null,
    swap_state: null,
    created_at: nowMs,
    started_at: null,
    ended_at: null,
    updated_at: nowMs,
  };
}

/** Builds the content of the command session_assign. */
export function assignmentOf(
  row: SessionRow,
  { launch, serving: { settings } }: PlacedLaunch,
  home: Pick<HomeSpec, 'provider' | 'ref'> | null,
): Assignment {
  const { bench } = launch.terms;
  return {
    session_id: row.id,
    user_id: row.user_id,
    app_id: row.app_id,
    gpu_index: row.gpu_index ?? 0,
    app: withHome(launch.runtime, home),
    stream: {
      width: row.stream_width,
      height: row.stream_height,
      fps: row.stream_fps,
      bitrate_kbps: row.stream_bitrate_kbps,
      abr_floor_kbps: row.stream_abr_floor_kbps,
      codec: row.stream_codec,
      h264_profile: row.stream_h264_profile,
      playout0_ms: row.stream_playout0_ms,
      audio: true,
      mic: row.stream_mic !== 0,
      ...(row.stream_recording !== 0 && { recorder: true }),
      rungs: rungsOf(row.stream_width, row.stream_height),
    },
    resources: { encode_slots: row.encode_slots, vram_mb: 0 },
    video_topology: row.video_topology,
    ...(bench !== null && {
      encoder: bench.encoder,
      bench: { budget_ms: 1000 / row.stream_fps, live_write_probe: true },
    }),
    // A local session and a measurement have no viewer, so no idle timer applies.
    idle_timeout_secs:
      row.video_topology === 'stream_only' && bench === null
        ? Number(inForce(settings, 'idle_timeout_secs'))
        : NEVER,
    // A measurement has its own time limit, however long its app takes to draw.
    app_boot_timeout_secs: bench === null ? Number(inForce(settings, 'app_boot_timeout_secs')) : NEVER,
  };
}

/**
 * Floor of the agent's rate control at the launch, kbit/s. Later changes of the settings do not change it.
 * @param settings settings that apply on the host
 */
export function floorAtLaunch(
  settings: ServingFacts['settings'],
  stream: Pick<ServedStream['stream'], 'bitrate_kbps' | 'abr_floor_kbps'>,
): number {
  const ownFloor = inForce(settings, 'abr_floor_kbps');
  return launchFloorKbps(
    {
      abr_floor_kbps: ownFloor === null ? null : Number(ownFloor),
      abr_floor_ratio: Number(inForce(settings, 'abr_floor_ratio')),
    },
    stream.bitrate_kbps,
    stream.abr_floor_kbps,
  );
}

/** The value that applies on the host, or its default if missing or invalid. */
function inForce(settings: ServingFacts['settings'], key: string): SettingValue {
  const setting = hostSettingByKey.get(key);
  if (setting === undefined) throw new Error(`${key} is no host setting`);
  const value = parseSettingText(setting, settings[key] ?? '');
  return value === undefined ? setting.default : value;
}
