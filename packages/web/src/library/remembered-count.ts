const KEY = 'footlight.library.apps';
/** The most apps that fit into one row of large tiles. */
const FEW = 7;
const UNKNOWN = 12;

/** How many apps the library had when it was last open here, so that its resting places have the size of what comes. */
export function rememberedCount(): number {
  const kept = Number.parseInt(localStorage.getItem(KEY) ?? '', 10);
  return kept > 0 && kept <= UNKNOWN ? kept : UNKNOWN;
}

/** Keeps the number for the next visit. */
export function rememberCount(count: number): void {
  localStorage.setItem(KEY, String(count));
}

/** Whether the library shows its apps as one row of large tiles. Nothing is not few: it has a page of its own. */
export function areFew(count: number): boolean {
  return count > 0 && count <= FEW;
}
