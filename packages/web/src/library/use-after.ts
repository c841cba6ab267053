import { useEffect, useState } from 'react';

/** Whether a condition has been true for `delayMs` without a break. */
export function useAfter(isSo: boolean, delayMs: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!isSo) return;
    const timer = setTimeout(() => setLasts(true), delayMs);
    return () => {
      clearTimeout(timer);
      setLasts(false);
    };
  }, [isSo, delayMs]);
  return isSo && lasts;
}
