import { gzipSync } from 'node:zlib';
import type { JsonObject } from '@footlight/protocol';
import type { CaptureResult, SessionCapture } from '@footlight/protocol/agent';

/** Captures of a fake host, by kind: a text, or an object. */
const RESULTS: Readonly<Record<CaptureResult['kind'], { type: string; result: string | JsonObject }>> = {
  pipeline_dot: {
    type: 'text/vnd.graphviz',
    result: 'digraph pipeline {\n  source -> convert -> encoder -> payloader -> packets;\n}\n',
  },
  encoder_props: {
    type: 'application/json',
    result: {
      encoder_factory: 'openh264enc',
      codec: 'h264',
      properties: { bitrate: 8_000_000, 'gop-size': 120 },
      caps: { encoder_sink: 'video/x-raw', encoder_src: 'video/x-h264', payloader_src: 'application/x-rtp' },
    },
  },
  burst_stats: {
    type: 'application/json',
    result: {
      window_ms: 250,
      windows: [
        {
          t_ms: 0,
          encode_ms: { n: 2, p50: 4, p95: 4.9, max: 5, samples: [3, 5] },
          dwell_ms: { n: 2, p50: 0, p95: 0, max: 0 },
          fps: 8,
          bitrate_kbps: 8_000,
          frames_dropped: 0,
          queue_level_max: 1,
        },
      ],
    },
  },
  log_tail: {
    type: 'text/plain',
    result: 'agent 2026-01-01T00:00:00.000Z info session.trace\napp started\n',
  },
};

/** Payload of a capture's event. @param error null: the capture succeeded */
export function fakeCapture(
  { capture_id, kind }: Pick<SessionCapture, 'capture_id' | 'kind'>,
  error: string | null,
): JsonObject {
  const known = Object.hasOwn(RESULTS, kind) ? RESULTS[kind as CaptureResult['kind']] : undefined;
  const common = { capture_id, kind, truncated: false, duration_ms: 1 };
  if (known === undefined || error !== null)
    return {
      ...common,
      encoding: 'json',
      content_type: 'application/json',
      bytes: 0,
      compressed_bytes: 0,
      error: error ?? 'the fake host has none of this kind',
    };
  const { type: content_type, result } = known;
  if (typeof result !== 'string') {
    const bytes = Buffer.byteLength(JSON.stringify(result));
    return { ...common, encoding: 'json', content_type, json: result, bytes, compressed_bytes: bytes };
  }
  const packed = gzipSync(result);
  return {
    ...common,
    encoding: 'gzip+base64',
    content_type,
    data: packed.toString('base64'),
    bytes: Buffer.byteLength(result),
    compressed_bytes: packed.length,
  };
}
