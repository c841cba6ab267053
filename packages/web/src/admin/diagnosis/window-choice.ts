/** The window of time that a diagnosis shows, from the moment that was chosen. Pure. */
import type { DiagnosisSearch, WindowMinutes } from '../../search/diagnosis-search.ts';

const MINUTE_MS = 60_000;
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
 * the session, where the newest samples are.
 * @param endedAtMs null: the session goes on
 */
export function windowOf(search: DiagnosisSearch, endedAtMs: number | null, nowMs: number): AskedWindow {
  const lengthMs = (search.minutes ?? USUAL_MINUTES) * MINUTE_MS;
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
