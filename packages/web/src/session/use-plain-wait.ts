import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';
import { PLAIN_OFFERED_MS, PLAIN_SHOWN_MS } from './launch-view.ts';

/** Tolerance, because a timer may fire a little early compared with the wall clock. */
const LATE_MS = 50;

/**
 * Measures for how long an app has frames with only one colour. Renders again at the moment when launch-view may decide
 * differently.
 */
export function usePlainWait(hasFrames: boolean) {
  const [framesSinceMs, setSince] = useState<number | null>(null);
  const [insists, setInsists] = useState(false);
  const [, setLooks] = useState(0);
  useEffect(() => {
    setSince(hasFrames ? clock.nowMs() : null);
    setInsists(false);
    if (!hasFrames) return;
    const look = () => setLooks((count) => count + 1);
    const timers = [PLAIN_OFFERED_MS, PLAIN_SHOWN_MS].map((ms) => clock.setTimeout(look, ms + LATE_MS));
    return () => {
      for (const timer of timers) timer.cancel();
    };
  }, [hasFrames]);
  return { framesSinceMs, insists, insist: () => setInsists(true) };
}
