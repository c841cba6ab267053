import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';

/** Whether a condition has been true for `delayMs` without interruption. */
export function useAfter(isSo: boolean, delayMs: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!isSo) return;
    const timer = clock.setTimeout(() => setLasts(true), delayMs);
    return () => {
      timer.cancel();
      setLasts(false);
    };
  }, [isSo, delayMs]);
  return isSo && lasts;
}
