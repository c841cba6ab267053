/**
 * Converts results of captures from the form that hosts report to the form that administrators read. Pure. Source:
 * docs/recordings.md.
 */
import { maskJson, maskSecrets } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import { type CaptureResult, captureResultSchema } from '@footlight/protocol/agent';
import type { Capture } from '@footlight/protocol/rest';
import { fromJson, toJson } from '../platform/database/index.ts';

/** Whether an event is the result of a capture. Captures have their own retention. */
export const isCapture = (eventType: string): boolean => eventType.startsWith('diag.');

/**
 * The stored payload of a diag.<kind> event. The id is its first key, because captures are found by it.
 * @returns null: not the result of a capture of this kind; such an event is stored like any other
 */
export function storedCapture(event: string, payload: JsonObject): string | null {
  const parsed = captureResultSchema.safeParse(payload);
  return parsed.success && event === `diag.${parsed.data.kind}` ? toJson(parsed.data) : null;
}

/** Beginning of the stored payload of a capture. @param captureId a lower-case uuid */
export const beginOfCapture = (captureId: string): string => `{"capture_id":"${captureId}"`;

/**
 * Converts a stored capture for administrators. The agent has already masked its texts. They are masked again in case
 * the agent is faulty, unless they are compressed.
 * @returns null: not a capture
 */
export function captureRecord({
  payload,
  ts_unix_ms,
}: {
  payload: string;
  ts_unix_ms: number;
}): Capture | null {
  const parsed = captureResultSchema.safeParse(fromJson(payload));
  if (!parsed.success) return null;
  const { capture_id, kind, json, error, ...rest }: CaptureResult = parsed.data;
  return {
    capture_id,
    kind,
    ts_unix_ms,
    ...rest,
    ...(json !== undefined && { json: maskJson(json) as JsonObject }),
    ...(error !== undefined && { error: maskSecrets(error) }),
  };
}

/** A capture without its result, for a bundle that would be too long with the result. */
export function withoutResult({
  data: _data,
  json: _json,
  ...capture
}: Capture): Capture & { omitted: true } {
  return { ...capture, omitted: true };
}
