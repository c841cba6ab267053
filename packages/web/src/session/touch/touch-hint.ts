const STORAGE_KEY = 'footlight.touch-hint';

/** Whether to tell how fingers open the controls: once in this browser. The call counts as the one time. */
export function takeTouchHint(): boolean {
  try {
    if (localStorage.getItem(STORAGE_KEY) !== null) return false;
    localStorage.setItem(STORAGE_KEY, 'shown');
    return true;
  } catch {
    // Without storage the hint would be shown in each session.
    return false;
  }
}
