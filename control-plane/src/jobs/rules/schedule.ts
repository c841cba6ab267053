/**
 * When a job runs. Pure: schedules and the time in, times out. A window follows the local clock: an hour that occurs
 * twice counts twice, and a window that the clock skips does not open on that day.
 * Source: docs/configuration.md, "Background jobs".
 */
import { DAY_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { nextClockChange, wallClockMs } from './zone.ts';

/** Times at which runs may start; the window governs starts only. */
export interface Window {
  /** Seconds since midnight, never equal. The end is on the next day where it is the earlier one. */
  startSecs: number;
  endSecs: number;
  /** Days on which it opens, 0 (Sunday) to 6; empty: every day. */
  days: readonly number[];
  /** IANA zone. */
  zone: string;
}

/** Longest wait for the retry of a deferred run. */
export const MAX_RETRY_MS = 15 * MINUTE_MS;

const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

/** Seconds since midnight of HH:MM or HH:MM:SS; null for other texts, 24:00 among them. */
export function parseTimeOfDay(text: string): number | null {
  const match = TIME.exec(text);
  if (match === null) return null;
  return Number(match[1]) * 3_600 + Number(match[2]) * 60 + Number(match[3] ?? 0);
}

/** HH:MM:SS of seconds since midnight. */
export function writeTimeOfDay(secs: number): string {
  return new Date(secs * SECOND_MS).toISOString().slice(11, 19);
}

/**
 * Whether the clocks of the zone show a time of the window. An hour that the clocks show twice counts twice, and one
 * that they skip not at all.
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

/** First opening at or after a time of the wall clock, if the clocks are not changed until then. */
function nextOpening({ startSecs, days }: Window, wallMs: number): number {
  const midnight = Math.floor(wallMs / DAY_MS) * DAY_MS;
  for (let day = 0; day < 8; day += 1) {
    const opening = midnight + day * DAY_MS + startSecs * SECOND_MS;
    const isDay = days.length === 0 || days.includes(new Date(opening).getUTCDay());
    if (isDay && opening >= wallMs) return opening;
  }
  // Every list of days has a day within a week, so only today's opening of a weekly window remains, a week from now.
  return midnight + 7 * DAY_MS + startSecs * SECOND_MS;
}

/** Clocks are changed a few times a year, so two dozen steps of up to two days pass any of them. */
const MAX_STEPS = 24;

/**
 * The first instant from `atMs` on at which runs may start.
 * @param window null: always
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
      // The clocks run evenly for two days: go to the opening, or as far as is known.
      const knownMs = fromMs + 2 * DAY_MS;
      if (openingMs <= knownMs) return openingMs;
      fromMs = knownMs;
    } else if (openingMs < changeMs) return openingMs;
    else fromMs = changeMs;
  }
  return fromMs;
}

/**
 * When a job with an interval runs next. A last run that ended in the future was stored while the clock was ahead; it
 * counts as ended now, because its real end is unknown.
 * @param intervalMs from the end of the last run; null: never
 * @param lastEndMs end of the target's last run; null: it never ran
 * @returns null: never
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
 * The latest start that can be planned at present, for a first try and for a retry. A run that waits for longer was
 * planned by a clock that was ahead, and would keep its job from running until that time comes.
 * @param intervalMs null: the job is not started by its schedule
 */
export function latestStart(
  { intervalMs, window }: { intervalMs: number | null; window: Window | null },
  nowMs: number,
): number {
  return moveIntoWindow(window, nowMs + Math.max(intervalMs ?? 0, MAX_RETRY_MS));
}
