/** Local times of IANA zones, from the tables of the runtime (ICU). Pure. */
import { DAY_MS, HOUR_MS, SECOND_MS } from '@footlight/platform';
import { isTimeZone } from '@footlight/protocol/rest';

/** Formatters by zone, cached because creating one takes about 50 µs. null: the zone is unknown. */
const formatters = new Map<string, Intl.DateTimeFormat | null>();
/** Maximum cached formatters. There are about 600 zone names. */
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
 * The zone's local time, expressed as milliseconds as if it were UTC.
 * @param zone a zone that the runtime does not know is treated as UTC, because another release may have stored it
 * @returns milliseconds; 14:00 in any zone gives the value of 14:00 UTC
 */
export function wallClockMs(zone: string, atMs: number): number {
  const formatter = formatterOf(zone);
  if (formatter === null) return atMs;
  const shown: Record<string, number> = {};
  for (const { type, value } of formatter.formatToParts(atMs)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
  // Offsets are whole seconds, so local time and UTC have the same milliseconds.
  const milliseconds = ((atMs % SECOND_MS) + SECOND_MS) % SECOND_MS;
  return Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
}

const offsetMs = (zone: string, atMs: number): number => wallClockMs(zone, atMs) - atMs;

/** Search step. Two changes of a zone's offset are always further apart than this. */
const STEP_MS = 6 * HOUR_MS;

/**
 * The first time after `fromMs` at which the zone's clocks are changed.
 * @returns null: no change within the next two days
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
