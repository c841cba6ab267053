/** Captures between the agent and a media worker, as parts of their messages. */
import { z } from 'zod';

/** Most characters of a graph; a pipeline of 15 elements has 30 thousand. */
const MAX_GRAPH = 256 * 1024;
/** Bounds of captures: windows, and their length in ms. */
const MAX_WINDOWS = 40;
const MAX_WINDOW_MS = 1_000;
/** Listed frames of a window (count). */
export const MAX_FRAMES = 200;

/** What a worker captures. Numbers are within the bounds of agents. */
export const captureRequest = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pipeline_dot') }),
  z.object({ kind: z.literal('encoder_props') }),
  z.object({
    kind: z.literal('burst_stats'),
    windows: z.int().min(1).max(MAX_WINDOWS),
    window_ms: z.int().min(1).max(MAX_WINDOW_MS),
  }),
]);
export type CaptureRequest = z.infer<typeof captureRequest>;

const short = z.string().max(256);
const caps = z.string().max(4_096).nullable();
const property = z.union([z.number(), z.boolean(), short]);

const encoderProps = z.object({
  encoder_factory: short,
  codec: short,
  /** Names of the encoder table. */
  properties: z.record(z.string().max(64), property),
  caps: z.object({ encoder_sink: caps, encoder_src: caps, payloader_src: caps }),
  /** Conversion and scaling before the encoder. */
  scale_stage: z.object({ element: short, sink: caps, src: caps }),
});
export type EncoderProps = z.infer<typeof encoderProps>;

const milliseconds = z.number().min(0);
const count = z.int().min(0);
/** The values are null if there were no frames. */
const spread = {
  n: count,
  p50: milliseconds.nullable(),
  p95: milliseconds.nullable(),
  max: milliseconds.nullable(),
};

const burstWindow = z.object({
  /** Start of the window, counted from the start of the capture. */
  t_ms: milliseconds,
  encode_ms: z.object({ ...spread, samples: z.array(milliseconds).max(MAX_FRAMES) }),
  dwell_ms: z.object(spread),
  fps: z.number().min(0),
  bitrate_kbps: z.number().min(0),
  /** Frames dropped by the queue or the encoder. */
  frames_dropped: count,
  queue_level_max: count,
  abr_setpoint_kbps: z.number().optional(),
  gcc_estimate_kbps: z.number().optional(),
});
export type BurstWindow = z.infer<typeof burstWindow>;

/** Result of a capture. */
export const captureMade = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pipeline_dot'), graph: z.string().max(MAX_GRAPH) }),
  z.object({ kind: z.literal('encoder_props'), props: encoderProps }),
  z.object({
    kind: z.literal('burst_stats'),
    window_ms: z.int().min(1),
    windows: z.array(burstWindow).max(MAX_WINDOWS),
  }),
  z.object({ kind: z.literal('failed'), error: short }),
]);
export type CaptureMade = z.infer<typeof captureMade>;
