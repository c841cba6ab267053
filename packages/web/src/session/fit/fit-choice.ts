const STORAGE_KEY = 'footlight.fit-window';
const KEPT_APPS = 100;

/** Whether the size of this app follows the window in this browser; false by default. */
export function followsWindow(appId: string): boolean {
  return read().includes(appId);
}

/** Stores the person's choice for this app. */
export function rememberFollowing(appId: string, follows: boolean): void {
  const others = read().filter((id) => id !== appId);
  const next = follows ? [...others, appId].slice(-KEPT_APPS) : others;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  } catch {
    // If storage is missing, the choice lasts for this visit.
  }
}

function read(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]');
    return Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
