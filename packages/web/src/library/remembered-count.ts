const APPS = 'footlight.library.apps';
const FAVOURITES = 'footlight.library.favourites';
/** Apps that fit into one row of large tiles. */
const FEW = 7;

/** Number of apps at the last visit of this browser; null: not known. */
export interface Remembered {
  apps: number | null;
  favourites: number;
}

/** Numbers at the last visit, with which the page reserves the final space for content that is still loading. */
export function readRemembered(): Remembered {
  const apps = countIn(APPS);
  return { apps, favourites: countIn(FAVOURITES) ?? 0 };
}

/** Stores the sizes for the next visit. */
export function remember(apps: number, favourites: number): void {
  try {
    localStorage.setItem(APPS, String(apps));
    localStorage.setItem(FAVOURITES, String(favourites));
  } catch {
    // If storage is missing, the next visit shows the default number of placeholders.
  }
}

/** Whether the library shows one row of large tiles. An empty library has its own page. */
export function areFew(count: number): boolean {
  return count > 0 && count <= FEW;
}

function countIn(key: string): number | null {
  const kept = Number.parseInt(localStorage.getItem(key) ?? '', 10);
  return kept > 0 ? kept : null;
}
