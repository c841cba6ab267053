import type { Session } from '@footlight/protocol/rest';
import type { StreamState } from '@footlight/stream-client';
import { useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import { reconnectLabel } from './reconnect-labels.ts';

const SECOND_MS = 1_000;

/**
 * What to say of a lost picture, counted by the second; null: it is there, or none was shown.
 * @param recordAtMs when the record of the session came, Unix ms: an older one tells of a time-out that the viewer ended
 */
export function useReconnectLabel(
  state: StreamState,
  session: Session | undefined,
  recordAtMs: number,
): string | null {
  const away = state.kind === 'reconnecting';
  const sinceMs = useRef<number | null>(null);
  const [, setTick] = useState(0);
  if (!away) sinceMs.current = null;
  else sinceMs.current ??= clock.monotonicMs();
  useEffect(() => {
    if (!away) return;
    const timer = clock.setInterval(() => setTick((tick) => tick + 1), SECOND_MS);
    return () => timer.cancel();
  }, [away]);
  if (!away) return null;
  const nowMs = clock.monotonicMs();
  const awayMs = nowMs - (sinceMs.current ?? nowMs);
  const isNew = clock.nowMs() - recordAtMs < awayMs;
  return reconnectLabel(state, {
    awayMs,
    nextMs: state.next_at_ms === null ? null : state.next_at_ms - nowMs,
    endsMs: isNew && session?.idle_ends_at ? Date.parse(session.idle_ends_at) - clock.nowMs() : null,
  }).join(' ');
}
