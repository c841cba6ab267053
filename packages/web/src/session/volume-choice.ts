const STORAGE_KEY = 'footlight.volume';

/** The volume that the person chose in this browser, 0 to 1; 1 by default. */
export function chosenVolume(): number {
  try {
    const value = Number.parseFloat(localStorage.getItem(STORAGE_KEY) ?? '1');
    return value >= 0 && value <= 1 ? value : 1;
  } catch {
    return 1;
  }
}

export function rememberVolume(volume: number): void {
  try {
    localStorage.setItem(STORAGE_KEY, String(volume));
  } catch {
    // If storage is missing, the choice lasts for this visit.
  }
}
