import type { Session } from '@footlight/protocol/rest';
import type { StreamState } from '@footlight/stream-client';
import { useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import { reconnectLabel } from './reconnect-labels.ts';

const SECOND_MS = 1_000;

/**
 * The message about a lost picture, updated every second; null: the picture is shown, or no picture was shown yet.
 * @param recordAtMs when the session's record arrived, Unix ms; a time-out in an older record is not valid any more,
 *   because a viewer has connected since
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
