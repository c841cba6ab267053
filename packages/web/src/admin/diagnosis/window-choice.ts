/** The window of time that a diagnosis shows, from the moment that was chosen. Pure. */
import type { DiagnosisSearch, WindowMinutes } from '../../search/diagnosis-search.ts';

const MINUTE_MS = 60_000;
/** The service reads no shorter window. */
const SHORTEST_MS = 2 * MINUTE_MS;
/** Length that is read where nothing was chosen, as by the service. */
export const USUAL_MINUTES: WindowMinutes = 5;

/** Ends to ask for, in ms since 1970; `to` missing: now. */
export interface AskedWindow {
  from: number;
  to?: number;
  /** New samples may still come into it. */
  grows: boolean;
}

/**
 * The moment is in the middle, so that what led to it and what followed are seen; it never reaches past the end of
 * the session, where the newest samples are. A session shorter than the usual window is shown whole.
 * @param session when it began to run and when it ended, ms; null: not yet
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
 * @param shown the window that is shown, ms
 */
export function momentBeside(shown: { from_ms: number; to_ms: number }, direction: -1 | 1): number {
  const lengthMs = shown.to_ms - shown.from_ms;
  return shown.from_ms + lengthMs / 2 + direction * lengthMs;
}

/** The value of a field of date and time for an instant, in the zone of this browser. */
export function fieldOf(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The instant of such a field; undefined: it is empty or no date. */
export function instantOf(field: string): number | undefined {
  const ms = new Date(field).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}
