const STORAGE_KEY = 'footlight.launch-times';
/** Number of kept launches. Their median is stable, and adapts to a faster host within a few launches. */
const KEPT_LAUNCHES = 10;
/** Largest number of stored apps. They use a few kilobytes of the browser's storage. */
const KEPT_APPS = 100;

type Times = Record<string, number[]>;

/**
 * Time that this app usually needs until its first picture on a host, in ms: the median of this browser's last ten
 * launches on this host; null: no launch was measured.
 */
export function usualLaunchMs(appId: string, hostId: string | null): number | null {
  const times = read()[nameOf(appId, hostId)];
  return times === undefined ? null : median(times);
}

/** Adds one launch that reached its picture. @param tookMs from the click to the first picture */
export function rememberLaunch(appId: string, hostId: string | null, tookMs: number): void {
  if (!Number.isFinite(tookMs) || tookMs <= 0) return;
  const name = nameOf(appId, hostId);
  const { [name]: former = [], ...others } = read();
  // The newest entry is last, so the apps that were unused for longest are removed first.
  const kept = Object.entries(others).slice(-(KEPT_APPS - 1));
  const next: Times = Object.fromEntries([
    ...kept,
    [name, [...former, Math.round(tookMs)].slice(-KEPT_LAUNCHES)],
  ]);
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  } catch {
    // If storage is missing or full, only the estimate is lost.
  }
}

/** Median of a list; null for an empty one. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

function nameOf(appId: string, hostId: string | null): string {
  return `${appId}@${hostId ?? ''}`;
}

function read(): Times {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    const lists = Object.entries(value).filter(
      (entry): entry is [string, number[]] =>
        Array.isArray(entry[1]) && entry[1].every((time) => typeof time === 'number'),
    );
    return Object.fromEntries(lists);
  } catch {
    return {};
  }
}
