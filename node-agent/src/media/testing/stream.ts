import type { StreamSpec } from '@footlight/protocol/agent';

/**
 * The stream of tests: H.264 with 1280×720 at 60 fps and 8 Mbit/s, without sound, without a microphone and without
 * smaller sizes.
 */
export function testStream(over: Partial<StreamSpec> = {}): StreamSpec {
  return {
    width: 1280,
    height: 720,
    fps: 60,
    bitrate_kbps: 8000,
    abr_floor_kbps: 0,
    codec: 'h264',
    h264_profile: 'constrained-baseline',
    playout0_ms: 50,
    audio: false,
    mic: false,
    rungs: [],
    ...over,
  };
}
