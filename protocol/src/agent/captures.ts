/** Captures of a running session: kinds, bounds, and results. Source: docs/recordings.md. */
import { z } from 'zod';
import { count, humanText, type JsonObject, jsonObject, text, wireUuid } from '../common.ts';
import { MAX_DIAG_PAYLOAD_BYTES } from './limits.ts';

export const CAPTURE_KINDS = ['pipeline_dot', 'encoder_props', 'burst_stats', 'log_tail'] as const;
export type CaptureKind = (typeof CAPTURE_KINDS)[number];

/**
 * Limits that the agent applies to every request. In base64, CAPTURE_MAX_BYTES becomes 342 KiB, which fits in one
 * event.
 */
const CAPTURE_MAX_BYTES = 262_144;
export const CAPTURE_MAX_MS = 30_000;
/** Limits that the control plane sends with a capture: bytes after compression, and time in milliseconds. */
export const CAPTURE_BUDGET = { max_bytes: 262_144, max_ms: 10_000 } as const;

/** Bytes after compression, and milliseconds. */
export interface CaptureBudget {
  max_bytes: number;
  max_ms: number;
}

/** Whether this version knows a capture kind. */
export function isCaptureKind(kind: string): kind is CaptureKind {
  return (CAPTURE_KINDS as readonly string[]).includes(kind);
}

/** A capture with its effective parameters. */
export type CaptureOrder =
  | { kind: 'pipeline_dot' | 'encoder_props' }
  /** Number of windows, and the length of each in milliseconds. */
  | { kind: 'burst_stats'; windows: number; window_ms: number }
  | { kind: 'log_tail'; lines: number };

/** Names of the parameters that are read for each kind. */
export const CAPTURE_PARAMS: Readonly<Record<CaptureKind, readonly string[]>> = {
  pipeline_dot: [],
  encoder_props: [],
  burst_stats: ['windows', 'window_ms'],
  log_tail: ['lines'],
};

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
const integerOr = (value: unknown, fallback: number) =>
  Number.isInteger(value) ? (value as number) : fallback;

/**
 * Limits the parameters of a capture to their ranges. Agent and control plane both call this, because the other side
 * may be newer or faulty. Pure.
 * @param params the parameters as sent; a value that is not an integer counts as missing
 * @param maxMs time budget; windows × window_ms stays within it, with at least one window
 */
export function clampCapture(kind: CaptureKind, params: JsonObject, maxMs: number): CaptureOrder {
  if (kind === 'log_tail') return { kind, lines: clamp(integerOr(params.lines, 200), 1, 1000) };
  if (kind !== 'burst_stats') return { kind };
  const window_ms = clamp(integerOr(params.window_ms, 250), 100, 1000);
  const requested = clamp(integerOr(params.windows, 20), 1, 40);
  const windows = Math.max(1, Math.min(requested, Math.floor(clamp(maxMs, 0, CAPTURE_MAX_MS) / window_ms)));
  return { kind, windows, window_ms };
}

/** The budget of a capture, limited to the agents' limits. Pure. */
export const clampCaptureBudget = ({ max_bytes, max_ms }: CaptureBudget): CaptureBudget => ({
  max_bytes: Math.min(max_bytes, CAPTURE_MAX_BYTES),
  max_ms: Math.min(max_ms, CAPTURE_MAX_MS),
});

/**
 * Payload of a diag.<kind> event. The result is in `data` (gzip+base64) or in `json`; both are missing if `error` is
 * set.
 */
export const captureResultSchema = z.object({
  capture_id: wireUuid,
  kind: z.enum(CAPTURE_KINDS),
  encoding: z.enum(['gzip+base64', 'json']),
  content_type: text(128),
  data: text(MAX_DIAG_PAYLOAD_BYTES).optional(),
  json: jsonObject.optional(),
  /** Size of the uncompressed result in bytes. */
  bytes: count,
  /** Size of the sent gzip stream or JSON text in bytes. */
  compressed_bytes: count,
  /** Uncompressed size before the result was truncated; missing if it was not truncated. */
  original_bytes: count.optional(),
  truncated: z.boolean(),
  duration_ms: z.number().min(0),
  error: humanText(512).optional(),
});
export type CaptureResult = z.infer<typeof captureResultSchema>;
