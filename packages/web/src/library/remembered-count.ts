const APPS = 'footlight.library.apps';
const FAVOURITES = 'footlight.library.favourites';
/** Apps that fit into one row of large tiles. */
const FEW = 7;

/** What the library held at the last visit of this browser; null: not known. */
export interface Remembered {
  apps: number | null;
  favourites: number;
}

/** Sizes of the last visit, so that what is still loading has the space that it will take. */
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
    // Without storage the next visit has placeholders of the usual size.
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
