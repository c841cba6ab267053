import type { Quality } from '@footlight/stream-client';
import { useEffect, useState } from 'react';
import { clock } from '../../clock.ts';
import type { StreamView } from '../use-stream.ts';

/** Length of the interval that each statistic covers: the second before it arrives. */
const SECOND_MS = 1000;

/** The quality of the last second; undefined: the app's own picture was not shown during this whole second. */
export function useShownQuality({ shown, history }: StreamView): Quality | undefined {
  const [sinceMs, setSinceMs] = useState<number | null>(null);
  useEffect(() => setSinceMs(shown ? clock.nowMs() : null), [shown]);
  const last = history.at(-1);
  const isWhole = sinceMs !== null && last !== undefined && last.ts_unix_ms - sinceMs >= SECOND_MS;
  return isWhole ? last.quality : undefined;
}
