/** Which parts of a viewer's post are stored. Pure. Source: docs/sessions.md, "Telemetry". */
import { cutUtf8, type JsonObject, stripControls } from '@footlight/protocol';
import type { ClientSample } from '@footlight/protocol/rest';
import {
  CLIENT_METRIC_KEYS,
  type ClientHealth,
  type ClientMetrics,
  isClientHealth,
} from '@footlight/protocol/telemetry';
import { judgeTime, type RejectedTime } from './timestamps.ts';

/** Larger figures cannot be measurements, and their sum could be Infinity. */
const MAX_FIGURE = Number.MAX_SAFE_INTEGER;

/** Longest reason that is shown, bytes; reasons of players have only a few words. */
const MAX_REASON_BYTES = 120;

/** A viewer's report on its playback in one second, which ends at `tsMs`. */
export interface ViewerSecond {
  /** Milliseconds of the viewer's clock. */
  tsMs: number;
  health: ClientHealth;
  /** One line of text from the viewer; null: no reason. */
  reason: string | null;
  /** Key of the device that measured, as the viewer reports it; null: not reported. */
  deviceKey: string | null;
}

/** Items whose time is accepted, and the times of the other items with their probable cause. */
export interface Sorted<Item> {
  taken: Item[];
  rejected: { ts: number; cause: RejectedTime }[];
}

export function sortByTime<Item extends { ts_unix_ms: number }>(
  items: readonly Item[],
  nowMs: number,
): Sorted<Item> {
  const sorted: Sorted<Item> = { taken: [], rejected: [] };
  for (const item of items) {
    const cause = judgeTime(item.ts_unix_ms, nowMs);
    if (cause === null) sorted.taken.push(item);
    else sorted.rejected.push({ ts: item.ts_unix_ms, cause });
  }
  return sorted;
}

/** The figures that are stored; null: none. */
export function allowedMetrics(metrics: JsonObject): ClientMetrics | null {
  const allowed: ClientMetrics = {};
  let found = false;
  for (const key of CLIENT_METRIC_KEYS) {
    if (!Object.hasOwn(metrics, key)) continue;
    const value = metrics[key];
    // JSON writes a number that is too large for a double as Infinity.
    const isFigure = typeof value === 'number' && Math.abs(value) <= MAX_FIGURE;
    if (!isFigure && typeof value !== 'boolean') continue;
    allowed[key] = value;
    found = true;
  }
  return found ? allowed : null;
}

/** Codec names of the samples, the newest first. */
export function codecsNewestFirst(
  samples: readonly Pick<ClientSample, 'ts_unix_ms' | 'codec_mime_type'>[],
): string[] {
  return samples
    .flatMap(({ ts_unix_ms, codec_mime_type }) =>
      codec_mime_type === undefined ? [] : [{ ts_unix_ms, codec_mime_type }],
    )
    .sort((a, b) => b.ts_unix_ms - a.ts_unix_ms)
    .map(({ codec_mime_type }) => codec_mime_type);
}

/** The seconds of the samples that name a known health, the oldest first. */
export function viewerSeconds(samples: readonly ClientSample[]): ViewerSecond[] {
  return samples
    .flatMap(({ ts_unix_ms, client_health, client_health_reason, device_key }) =>
      client_health === undefined || !isClientHealth(client_health)
        ? []
        : [
            {
              tsMs: ts_unix_ms,
              health: client_health,
              reason: lineOf(client_health_reason ?? ''),
              deviceKey: device_key ?? null,
            },
          ],
    )
    .sort((a, b) => a.tsMs - b.tsMs);
}

function lineOf(text: string): string | null {
  // Cut first, because a post may contain 32 KiB of text.
  const line = stripControls(cutUtf8(text, MAX_REASON_BYTES)).replace(/\s+/g, ' ').trim();
  return line === '' ? null : line;
}
