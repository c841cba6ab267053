/**
 * Which times of a viewer are accepted, and the probable unit or cause of a refused one. Pure. Source:
 * docs/sessions.md, "Telemetry".
 */
import { DAY_MS } from '@footlight/platform';

/** Maximum distance of an accepted time from the server's clock, ms. */
export const MAX_TIME_DISTANCE_MS = DAY_MS;
/**
 * A time in another unit is recognised up to this distance from the server's clock, because the viewer's clock may be
 * wrong as well.
 */
const SAME_EPOCH_MS = 10 * 365 * DAY_MS;
/** Longest age of a page. Chosen, not measured: browsers are restarted for updates long before. */
const LONGEST_PAGE_MS = 365 * DAY_MS;

export const REJECTED_TIMES = [
  'zero_or_negative',
  'seconds',
  'microseconds',
  'nanoseconds',
  'performance_now',
  'out_of_range',
] as const;
export type RejectedTime = (typeof REJECTED_TIMES)[number];

/**
 * @param ts whole number, meant as epoch ms
 * @returns null: the time is accepted; otherwise its probable unit or cause
 */
export function judgeTime(ts: number, nowMs: number): RejectedTime | null {
  if (Math.abs(ts - nowMs) <= MAX_TIME_DISTANCE_MS) return null;
  if (ts <= 0) return 'zero_or_negative';
  const isNow = (epochMs: number) => Math.abs(epochMs - nowMs) <= SAME_EPOCH_MS;
  if (isNow(ts * 1_000)) return 'seconds';
  if (isNow(ts / 1_000)) return 'microseconds';
  if (isNow(ts / 1_000_000)) return 'nanoseconds';
  return ts <= LONGEST_PAGE_MS ? 'performance_now' : 'out_of_range';
}
