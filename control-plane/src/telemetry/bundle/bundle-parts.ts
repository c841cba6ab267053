/** Parts of a diagnostic bundle that follow from stored rows. Pure. */
import type { DiagnosticBundle } from '@footlight/protocol/rest';
import type { RejectedTimes } from './bundle-store.ts';

/** @returns undefined: nothing was dropped */
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
 * @param payload of a `client.first_frame`, which a viewer may fill with anything; undefined: none came
 * @returns null: not reported, or no number
 */
export function firstFrameMs(payload: { since_launch_ms?: unknown } | undefined): number | null {
  const ms = payload?.since_launch_ms;
  return typeof ms === 'number' && Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : null;
}

/** Bytes of a capture without its result; the longest, with an error of 512 bytes, takes 1,050. */
const WITHOUT_RESULT_BYTES = 1_100;
/** Bytes that a capture gains over its stored form: its time, and a comma. */
const ADDED_BYTES = 64;

/**
 * Captures that keep their results, so that the bundle fits its bound: the newest ones.
 * @param bytes of the stored captures, newest first
 * @param roomBytes that the rest of the bundle leaves
 * @returns how many of them (count)
 */
export function keptCaptures(bytes: readonly number[], roomBytes: number): number {
  let used = bytes.length * WITHOUT_RESULT_BYTES;
  const first = bytes.findIndex((size) => {
    used += size + ADDED_BYTES;
    return used > roomBytes;
  });
  return first === -1 ? bytes.length : first;
}
