import type { Timer } from '@footlight/platform/timer';
import type { AppListItem } from '@footlight/protocol/rest';
import { useCallback, useEffect, useRef, useState } from 'react';
import { clock } from '../clock.ts';

/** Debounce, so that a pointer that only crosses or clicks a tile does not change the full-screen picture. */
const REST_MS = 120;

/**
 * The app of the background picture: the app on which pointer or focus has rested.
 * @param held true after a launch, so that the picture stays until the page changes
 */
export function useSpotlight(held: boolean): [AppListItem | null, (app: AppListItem) => void] {
  const [shown, setShown] = useState<AppListItem | null>(null);
  const timer = useRef<Timer>(undefined);
  useEffect(() => {
    if (held) timer.current?.cancel();
    return () => timer.current?.cancel();
  }, [held]);
  const rest = useCallback((app: AppListItem) => {
    timer.current?.cancel();
    timer.current = clock.setTimeout(() => setShown(app), REST_MS);
  }, []);
  return [shown, rest];
}
