/**
 * Computes when a job runs. Pure: the functions receive schedules and the time, and return times. A window uses local
 * time. An hour that occurs twice (end of summer time) is inside the window both times, and a window in a skipped hour
 * does not open on that day. Source: docs/configuration.md, "Background jobs".
 */
import { DAY_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { nextClockChange, wallClockMs } from './zone.ts';

/** Times of day at which runs may start. A running job may continue after the window. */
export interface Window {
  /** Seconds since midnight. The two are never equal; an end before the start is on the next day. */
  startSecs: number;
  endSecs: number;
  /** Weekdays on which the window opens, 0 (Sunday) to 6; empty: every day. */
  days: readonly number[];
  /** IANA time zone. */
  zone: string;
}

/** Longest wait for the retry of a deferred run. */
export const MAX_RETRY_MS = 15 * MINUTE_MS;

const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

/** Seconds since midnight of HH:MM or HH:MM:SS; null for other texts, for example 24:00. */
export function parseTimeOfDay(text: string): number | null {
  const match = TIME.exec(text);
  if (match === null) return null;
  return Number(match[1]) * 3_600 + Number(match[2]) * 60 + Number(match[3] ?? 0);
}

/** The text HH:MM:SS for seconds since midnight. */
export function writeTimeOfDay(secs: number): string {
  return new Date(secs * SECOND_MS).toISOString().slice(11, 19);
}

/**
 * Whether the zone's local time is inside the window. A repeated hour is inside both times; a skipped hour never
 * occurs.
 */
export function isInWindow(window: Window, atMs: number): boolean {
  return isWallClockInside(window, wallClockMs(window.zone, atMs));
}

function isWallClockInside({ startSecs, endSecs, days }: Window, wallMs: number): boolean {
  const secs = Math.floor((((wallMs % DAY_MS) + DAY_MS) % DAY_MS) / SECOND_MS);
  const opensOn = (daysBack: number) =>
    days.length === 0 || days.includes(new Date(wallMs - daysBack * DAY_MS).getUTCDay());
  if (startSecs < endSecs) return secs >= startSecs && secs < endSecs && opensOn(0);
  return (secs >= startSecs && opensOn(0)) || (secs < endSecs && opensOn(1));
}

/**
 * First opening at or after a time of the wall clock, under the assumption that the clocks are not changed before it.
 */
function nextOpening({ startSecs, days }: Window, wallMs: number): number {
  const midnight = Math.floor(wallMs / DAY_MS) * DAY_MS;
  for (let day = 0; day < 8; day += 1) {
    const opening = midnight + day * DAY_MS + startSecs * SECOND_MS;
    const isDay = days.length === 0 || days.includes(new Date(opening).getUTCDay());
    if (isDay && opening >= wallMs) return opening;
  }
  // The loop finds the next opening in all cases but one: the window opens once a week, and today's opening has passed.
  // Then the next one is in a week.
  return midnight + 7 * DAY_MS + startSecs * SECOND_MS;
}

/** Bound of the search. Clocks are changed only a few times a year, so two dozen steps of up to two days are enough. */
const MAX_STEPS = 24;

/**
 * The first time at or after `atMs` at which runs may start.
 * @param window null: runs may start at any time
 */
export function moveIntoWindow(window: Window | null, atMs: number): number {
  if (window === null) return atMs;
  let fromMs = atMs;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const wallMs = wallClockMs(window.zone, fromMs);
    if (isWallClockInside(window, wallMs)) return fromMs;
    const openingMs = fromMs + nextOpening(window, wallMs) - wallMs;
    const changeMs = nextClockChange(window.zone, fromMs);
    if (changeMs === null) {
      // The clocks are not changed within two days: go to the opening, or at most two days ahead.
      const knownMs = fromMs + 2 * DAY_MS;
      if (openingMs <= knownMs) return openingMs;
      fromMs = knownMs;
    } else if (openingMs < changeMs) return openingMs;
    else fromMs = changeMs;
  }
  return fromMs;
}

/**
 * Time of the next run of a job with an interval. A last run that ended in the future was stored while the clock was
 * ahead; it counts as ended now, because its real end is unknown.
 * @param intervalMs interval from the end of the last run; null: no schedule starts the job
 * @param lastEndMs end of the target's last run; null: it never ran
 * @returns null: no run starts
 */
export function nextStart(
  { intervalMs, window }: { intervalMs: number | null; window: Window | null },
  lastEndMs: number | null,
  nowMs: number,
): number | null {
  if (intervalMs === null) return null;
  const dueMs = lastEndMs === null ? nowMs : Math.max(nowMs, Math.min(lastEndMs, nowMs) + intervalMs);
  return moveIntoWindow(window, dueMs);
}

/**
 * The latest start that can be planned at present, for a first try and for a retry. A run with a later start was
 * planned while the clock was ahead, and would block its job until that time.
 * @param intervalMs null: the job's schedule does not start it
 */
export function latestStart(
  { intervalMs, window }: { intervalMs: number | null; window: Window | null },
  nowMs: number,
): number {
  return moveIntoWindow(window, nowMs + Math.max(intervalMs ?? 0, MAX_RETRY_MS));
}
