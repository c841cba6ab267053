/** Local times of IANA zones, from the tables of the runtime (ICU). Pure. */
import { DAY_MS, HOUR_MS, SECOND_MS } from '@footlight/platform';
import { isTimeZone } from '@footlight/protocol/rest';

/** Formatters are slow to make (about 50 µs) and few: one for each zone that a job uses. null: no zone. */
const formatters = new Map<string, Intl.DateTimeFormat | null>();
/** Bound of that map. There are about 600 names. */
const MAX_FORMATTERS = 1_000;

function formatterOf(zone: string): Intl.DateTimeFormat | null {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  const formatter = isTimeZone(zone)
    ? new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
        ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
      })
    : null;
  if (formatters.size >= MAX_FORMATTERS) formatters.clear();
  formatters.set(zone, formatter);
  return formatter;
}

/**
 * What the zone's clocks show, as if their time were UTC.
 * @param zone a zone that the runtime does not know counts as UTC: another release may have stored it
 * @returns milliseconds: of 14:00 in any zone the same as of 14:00 UTC
 */
export function wallClockMs(zone: string, atMs: number): number {
  const formatter = formatterOf(zone);
  if (formatter === null) return atMs;
  const shown: Record<string, number> = {};
  for (const { type, value } of formatter.formatToParts(atMs)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
  // Offsets are whole seconds, so the milliseconds are those of the instant.
  const milliseconds = ((atMs % SECOND_MS) + SECOND_MS) % SECOND_MS;
  return Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
}

const offsetMs = (zone: string, atMs: number): number => wallClockMs(zone, atMs) - atMs;

/** Two changes of a zone's offset are further apart than this. */
const STEP_MS = 6 * HOUR_MS;

/**
 * The first instant after `fromMs` at which the zone's clocks are changed.
 * @returns null: not within the next two days
 */
export function nextClockChange(zone: string, fromMs: number): number | null {
  const before = offsetMs(zone, fromMs);
  for (let atMs = fromMs; atMs < fromMs + 2 * DAY_MS; atMs += STEP_MS) {
    if (offsetMs(zone, atMs + STEP_MS) === before) continue;
    let [same, other] = [atMs, atMs + STEP_MS];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (offsetMs(zone, middle) === before) same = middle;
      else other = middle;
    }
    return other;
  }
  return null;
}
