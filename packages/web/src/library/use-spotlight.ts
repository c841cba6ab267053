import type { AppListItem } from '@footlight/protocol/rest';
import { useCallback, useEffect, useRef, useState } from 'react';

/** Debounce: a pointer that crosses or clicks a tile does not change the full-screen picture. */
const REST_MS = 120;

/**
 * The app of the background picture: the one where pointer or focus has rested.
 * @param held true after a launch, because the page is about to change
 */
export function useSpotlight(held: boolean): [AppListItem | null, (app: AppListItem) => void] {
  const [shown, setShown] = useState<AppListItem | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (held) clearTimeout(timer.current);
    return () => clearTimeout(timer.current);
  }, [held]);
  const rest = useCallback((app: AppListItem) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setShown(app), REST_MS);
  }, []);
  return [shown, rest];
}
