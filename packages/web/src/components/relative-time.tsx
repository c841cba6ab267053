import { useState, useSyncExternalStore } from 'react';
import { clock } from '../clock.ts';
import { localeTag, t } from '../i18n/translate.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Update interval. The smallest unit shown is a minute, so the text is at most 15 s late. */
const TICK_MS = 15_000;

/** Format of the current language, made at the first use. */
let relative: { tag: string; format: Intl.RelativeTimeFormat } | null = null;

/** A relative time, with the exact time on hover; null shows `never`. */
export function RelativeTime({ at, never = t('never') }: { at: string | null; never?: string }) {
  const nowMs = useSyncExternalStore(subscribe, () => Math.floor(clock.nowMs() / TICK_MS) * TICK_MS);
  // Made on hover: with this format, the first rendering of the library took 40 ms longer on a slow phone.
  const [exact, setExact] = useState<string>();
  if (at === null) return <span>{never}</span>;
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={exact} onPointerEnter={() => setExact(exactLabel(atMs))}>
      {relativeLabel(atMs - Math.max(nowMs, clock.nowMs()))}
    </time>
  );
}

/** A relative time in words. @param offsetMs negative is the past */
export function relativeLabel(offsetMs: number): string {
  // Future times are rounded, so that an hour does not become "in 59 minutes" after a second.
  if (offsetMs >= MINUTE_MS) return aheadLabel(offsetMs);
  const size = Math.abs(offsetMs);
  if (size < MINUTE_MS) return offsetMs > 0 ? t('in under a minute') : t('just now');
  if (size < HOUR_MS) return format(Math.trunc(offsetMs / MINUTE_MS), 'minute');
  if (size < DAY_MS) return format(Math.trunc(offsetMs / HOUR_MS), 'hour');
  return format(Math.trunc(offsetMs / DAY_MS), 'day');
}

function aheadLabel(offsetMs: number): string {
  if (offsetMs < HOUR_MS - MINUTE_MS / 2) return format(Math.round(offsetMs / MINUTE_MS), 'minute');
  if (offsetMs < DAY_MS - HOUR_MS / 2) return format(Math.round(offsetMs / HOUR_MS), 'hour');
  return format(Math.round(offsetMs / DAY_MS), 'day');
}

function format(value: number, unit: Intl.RelativeTimeFormatUnit): string {
  const tag = localeTag();
  if (relative?.tag !== tag)
    relative = { tag, format: new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }) };
  return relative.format.format(value, unit);
}

function exactLabel(atMs: number): string {
  return new Intl.DateTimeFormat(localeTag(), { dateStyle: 'medium', timeStyle: 'medium' }).format(atMs);
}

function subscribe(tick: () => void): () => void {
  const timer = clock.setInterval(tick, TICK_MS);
  return () => timer.cancel();
}
