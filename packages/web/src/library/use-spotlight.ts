import type { AppListItem } from '@footlight/protocol/rest';
import { useCallback, useEffect, useRef, useState } from 'react';

/** A pointer that only crosses a tile, or clicks on it at once, leaves the page as it is: its picture fills the screen. */
const REST_MS = 120;

/**
 * The app whose picture stands behind the page: the one on which pointer or focus has come to rest.
 * @param held true from a launch on: the page is about to go
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
