import type { AppListItem } from '@footlight/protocol/rest';

/** Position in the library, restored when the person comes back. */
export interface Place {
  text: string;
  kind: AppListItem['kind'] | null;
  favourites: boolean;
  /** the tile that had the focus */
  focus: { section: string; id: string } | null;
}

const KEY = 'footlight.library.place';
const START: Place = { text: '', kind: null, favourites: false, focus: null };

/** Position at this tab's last visit; it survives other pages and a reload. */
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
    // Without storage the library opens at the top.
  }
}
