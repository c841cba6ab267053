import type { StreamSpec } from '@footlight/protocol/agent';
import type { PrepareMessage } from '../worker-messages.ts';

/**
 * What a worker is told of its session: a small one in H.264, in software, without sound, on a display that asks for
 * no cookie.
 * @param on the display, and a directory for the worker's own
 * @param stream where it differs
 */
export function prepareMessage(
  on: { display: string; scratch: string },
  stream: Partial<StreamSpec> = {},
  over: Partial<Omit<PrepareMessage, 'stream'>> = {},
): PrepareMessage {
  return {
    type: 'prepare',
    session_id: '11111111-1111-4111-8111-111111111111',
    uid: null,
    gid: null,
    display: on.display,
    xauthority: null,
    pulse_server: null,
    scratch_dir: on.scratch,
    stream: {
      width: 320,
      height: 240,
      fps: 30,
      bitrate_kbps: 1000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 100,
      audio: false,
      mic: false,
      rungs: [],
      ...stream,
    },
    encoder: { family: 'openh264', gpu_index: 0, render_node: null },
    settings: {},
    media: { addresses: null, ports: null },
    ...over,
  };
}
