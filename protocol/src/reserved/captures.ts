/** Part of the published contract, not served yet: captures of a running session, with kinds, bounds and results. */
import { z } from 'zod';
import { count, humanText, type JsonObject, jsonObject, openEnum, text, wireUuid } from '../common.ts';

export const CAPTURE_KINDS = ['pipeline_dot', 'encoder_props', 'burst_stats', 'log_tail'] as const;
export type CaptureKind = (typeof CAPTURE_KINDS)[number];

/** Bounds that the agent applies to every request. Chosen, not measured: nothing captures yet. */
export const CAPTURE_MAX_BYTES = 262_144;
export const CAPTURE_MAX_MS = 30_000;
/** Budget that the control plane sends. */
export const CAPTURE_BUDGET = { max_bytes: 262_144, max_ms: 10_000 } as const;

/** Whether this version knows a capture kind. */
export function isCaptureKind(kind: string): kind is CaptureKind {
  return (CAPTURE_KINDS as readonly string[]).includes(kind);
}

/** Parameters in force; empty for kinds without parameters. */
export type CaptureParams =
  | { windows: number; window_ms: number }
  | { lines: number }
  | Record<string, never>;

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
const integerOr = (value: unknown, fallback: number) =>
  Number.isInteger(value) ? (value as number) : fallback;

/**
 * Clamps the parameters of a capture.
 * @param params as sent; a value that is no integer counts as absent
 * @param maxMs time budget; windows × window_ms stays within it, with at least one window
 */
export function clampCaptureParams(kind: CaptureKind, params: JsonObject, maxMs: number): CaptureParams {
  if (kind === 'log_tail') return { lines: clamp(integerOr(params.lines, 200), 1, 1000) };
  if (kind !== 'burst_stats') return {};
  const window_ms = clamp(integerOr(params.window_ms, 250), 100, 1000);
  const requested = clamp(integerOr(params.windows, 20), 1, 40);
  const windows = Math.max(1, Math.min(requested, Math.floor(clamp(maxMs, 0, CAPTURE_MAX_MS) / window_ms)));
  return { windows, window_ms };
}

/** Payload of a diag.<kind> event; `data` for gzip+base64, `json` for json, `error` where it failed. */
export const captureResultSchema = z.object({
  capture_id: wireUuid,
  kind: openEnum(64),
  encoding: z.enum(['gzip+base64', 'json']),
  content_type: text(128),
  data: text(512 * 1024).optional(),
  json: jsonObject.optional(),
  bytes: count,
  compressed_bytes: count,
  original_bytes: count.optional(),
  truncated: z.boolean(),
  duration_ms: z.number().min(0),
  error: humanText(512).optional(),
});
export type CaptureResult = z.infer<typeof captureResultSchema>;

/** Payload of the session.recording event. */
export const recordingEventSchema = z.object({
  recording_id: wireUuid,
  state: z.enum(['ready', 'failed']),
  bytes: count.optional(),
  duration_ms: count.optional(),
  error: humanText(256).optional(),
});
export type RecordingEvent = z.infer<typeof recordingEventSchema>;
