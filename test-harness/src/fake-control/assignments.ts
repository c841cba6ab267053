import { randomUUID } from 'node:crypto';
import type { SessionAssign } from '@footlight/protocol/agent';
import type { CommandBody } from './fake-control.ts';

type AssignBody = Extract<CommandBody, { type: 'session_assign' }>;

/** Assignment of a small process session; a test overrides the relevant values. */
export function assignment(
  args: string[],
  overrides: Partial<Omit<SessionAssign, 'type' | 'id'>> = {},
): AssignBody {
  return {
    type: 'session_assign',
    session_id: randomUUID(),
    user_id: randomUUID(),
    app_id: randomUUID(),
    gpu_index: 0,
    app: { image: '', args, env: {}, mounts: [], gpu: false, label: 'test app' },
    stream: {
      width: 640,
      height: 480,
      fps: 30,
      bitrate_kbps: 2000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 25,
      audio: true,
      mic: false,
      rungs: [],
    },
    resources: { encode_slots: 1, vram_mb: 0 },
    video_topology: 'stream_only',
    idle_timeout_secs: 0,
    app_boot_timeout_secs: 30,
    ...overrides,
  };
}
