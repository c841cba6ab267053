/** The time window that a diagnosis shows, around the chosen moment. Pure. */
import type { DiagnosisSearch } from '../../search/diagnosis-search.ts';

const MINUTE_MS = 60_000;
/** Shortest window that the service reads. */
const SHORTEST_MS = 2 * MINUTE_MS;
/** Length of the window if none is chosen. The service uses the same length. */
const USUAL_MINUTES = 5;

/** Start and end of the requested window, in ms since 1970; `to` missing: now. */
export interface AskedWindow {
  from: number;
  to?: number;
  /** whether new samples may still arrive in this window */
  grows: boolean;
}

/**
 * The window around the chosen moment, so that the time before and after it is shown. The window never extends beyond
 * the end of the session, because no samples exist after the end. If the session is shorter than the usual window, the
 * window is the whole session.
 * @param session when it started to run and when it ended, ms; null: not yet
 */
export function windowOf(
  search: DiagnosisSearch,
  { startedAtMs, endedAtMs }: { startedAtMs: number | null; endedAtMs: number | null },
  nowMs: number,
): AskedWindow {
  const ranMs = Math.max(SHORTEST_MS, (endedAtMs ?? nowMs) - (startedAtMs ?? 0));
  const lengthMs =
    search.minutes === undefined ? Math.min(USUAL_MINUTES * MINUTE_MS, ranMs) : search.minutes * MINUTE_MS;
  if (search.at === undefined && endedAtMs === null) return { from: nowMs - lengthMs, grows: true };
  const middle = search.at === undefined ? Number.POSITIVE_INFINITY : search.at + lengthMs / 2;
  const to = Math.min(middle, endedAtMs ?? Number.POSITIVE_INFINITY);
  return { from: to - lengthMs, to, grows: endedAtMs === null && to > nowMs };
}

/**
 * The moment one window earlier or later.
 * @param shown the shown window, ms
 */
export function momentBeside(shown: { from_ms: number; to_ms: number }, direction: -1 | 1): number {
  const lengthMs = shown.to_ms - shown.from_ms;
  return shown.from_ms + lengthMs / 2 + direction * lengthMs;
}

/** The value of a date-time field for an instant, in the browser's time zone. */
export function fieldOf(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The moment in the value of a date-time field; undefined: the field is empty or contains no date. */
export function instantOf(field: string): number | undefined {
  const ms = new Date(field).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}
