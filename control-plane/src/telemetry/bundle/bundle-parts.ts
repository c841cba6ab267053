/** Builds parts of a diagnostic bundle from stored rows. Pure. */
import type { DiagnosticBundle } from '@footlight/protocol/rest';
import type { RejectedTimes } from './bundle-store.ts';

/** @returns undefined: no item was dropped */
export function ingestOf(rejected: readonly RejectedTimes[]): DiagnosticBundle['ingest'] {
  const [last] = [...rejected].sort((a, b) => b.last_at - a.last_at || (a.cause < b.cause ? -1 : 1));
  if (last === undefined) return undefined;
  return {
    rejected_ts: rejected.reduce((sum, { count }) => sum + count, 0),
    last_rejected_ts_unix_ms: last.last_ts,
    last_rejected_reason: last.cause,
  };
}

/**
 * Time from the launch to the first picture, ms.
 * @param payload payload of `client.first_frame`; a viewer may send any value in it. undefined: no event arrived
 * @returns null: not reported, or not a number
 */
export function firstFrameMs(payload: { since_launch_ms?: unknown } | undefined): number | null {
  const ms = payload?.since_launch_ms;
  return typeof ms === 'number' && Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : null;
}

/** Maximum bytes of a capture without its result. The longest one, with an error of 512 bytes, has 1,050. */
const WITHOUT_RESULT_BYTES = 1_100;
/** Bytes that are added to a stored capture in the bundle: its time and a comma. */
const ADDED_BYTES = 64;

/**
 * Number of newest captures that keep their results, so that the bundle does not exceed its limit.
 * @param bytes lengths of the stored captures, newest first
 * @param roomBytes bytes that remain for captures
 * @returns number of captures with results
 */
export function keptCaptures(bytes: readonly number[], roomBytes: number): number {
  let used = bytes.length * WITHOUT_RESULT_BYTES;
  const first = bytes.findIndex((size) => {
    used += size + ADDED_BYTES;
    return used > roomBytes;
  });
  return first === -1 ? bytes.length : first;
}
