/** Parts of the messages between the agent and a media worker that concern captures. */
import { z } from 'zod';

/** Longest graph in characters; a pipeline of 15 elements needs 30 thousand. */
const MAX_GRAPH = 256 * 1024;
/** Limits of captures: number of windows, and their length in milliseconds. */
const MAX_WINDOWS = 40;
const MAX_WINDOW_MS = 1_000;
/** Largest number of listed frames of a window. */
export const MAX_FRAMES = 200;

/** Request for a capture. Its numbers are within the limits that the agent has checked. */
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
  /** Properties with their names in the encoder table. */
  properties: z.record(z.string().max(64), property),
  caps: z.object({ encoder_sink: caps, encoder_src: caps, payloader_src: caps }),
  /** The element that converts and scales before the encoder. */
  scale_stage: z.object({ element: short, sink: caps, src: caps }),
});
export type EncoderProps = z.infer<typeof encoderProps>;

const milliseconds = z.number().min(0);
const count = z.int().min(0);
/** Statistics; the values are null if there were no frames. */
const spread = {
  n: count,
  p50: milliseconds.nullable(),
  p95: milliseconds.nullable(),
  max: milliseconds.nullable(),
};

const burstWindow = z.object({
  /** Start of the window, relative to the start of the capture. */
  t_ms: milliseconds,
  encode_ms: z.object({ ...spread, samples: z.array(milliseconds).max(MAX_FRAMES) }),
  dwell_ms: z.object(spread),
  fps: z.number().min(0),
  bitrate_kbps: z.number().min(0),
  /** Number of frames that the queue or the encoder dropped. */
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
