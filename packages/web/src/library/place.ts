import type { AppListItem } from '@footlight/protocol/rest';

/** Position in the library, which is restored when the person returns. */
export interface Place {
  text: string;
  kind: AppListItem['kind'] | null;
  favourites: boolean;
  /** the tile that had the focus */
  focus: { section: string; id: string } | null;
}

const KEY = 'footlight.library.place';
const START: Place = { text: '', kind: null, favourites: false, focus: null };

/** The position at this tab's last visit. It is kept when the person opens other pages or reloads. */
export function readPlace(): Place {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    return typeof stored === 'object' && stored !== null ? { ...START, ...stored } : START;
  } catch {
    return START;
  }
}

/** Stores a part of the position. */
export function keepPlace(part: Partial<Place>): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...readPlace(), ...part }));
  } catch {
    // If storage is missing, the library opens at the top.
  }
}
