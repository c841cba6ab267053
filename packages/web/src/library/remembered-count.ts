const KEY = 'footlight.library.apps';
/** Apps that fit into one row of large tiles. */
const FEW = 7;
const UNKNOWN = 12;

/** Number of apps at the last visit, so that placeholders have the right size. */
export function rememberedCount(): number {
  const kept = Number.parseInt(localStorage.getItem(KEY) ?? '', 10);
  return kept > 0 && kept <= UNKNOWN ? kept : UNKNOWN;
}

/** Stores the number for the next visit. */
export function rememberCount(count: number): void {
  localStorage.setItem(KEY, String(count));
}

/** Whether the library shows one row of large tiles. An empty library has its own page. */
export function areFew(count: number): boolean {
  return count > 0 && count <= FEW;
}
