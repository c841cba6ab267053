import type { Session } from '@footlight/protocol/rest';

/** A running session for tests of its record. */
export const RUNNING: Session = {
  id: '11111111-1111-4111-8111-111111111111',
  user_id: '22222222-2222-4222-8222-222222222222',
  app_id: '33333333-3333-4333-8333-333333333333',
  host_id: '44444444-4444-4444-8444-444444444444',
  state: 'running',
  state_detail: 'app presented',
  error_message: null,
  failure_code: null,
  end_reason: null,
  app_log_tail: null,
  profile_id: null,
  stream_profile_id: null,
  stream: {
    width: 1280,
    height: 720,
    fps: 30,
    bitrate_kbps: 3_000,
    h264_profile: 'constrained-baseline',
    codec: 'h264',
    playout0_ms: 0,
    mic: false,
    recording: false,
    rungs: [[1280, 720]],
  },
  codec_decision: null,
  negotiated_codec: null,
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: '2026-01-01T00:00:02.000Z',
  ended_at: null,
};
