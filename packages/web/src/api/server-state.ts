/**
 * How the server answers this page: the calls tell, and one notice shows it. Calls that change something say by
 * themselves what failed, and nothing repeats them; so only those that read count as failed here.
 */
import type { Timer } from '@footlight/platform/timer';
import { useSyncExternalStore } from 'react';
import { clock } from '../clock.ts';

/** slow: calls have waited for long. failing: it answers with faults of its own. away: it does not answer. */
export type ServerState = 'fine' | 'slow' | 'failing' | 'away';

/** Answers of a fleet take a fraction of a second; by then a person wonders. Chosen, not measured. */
export const SLOW_AFTER_MS = 3_000;

const late = new Set<Timer>();
const listeners = new Set<() => void>();
let last: 'fine' | 'failing' | 'away' = 'fine';
let shown: ServerState = 'fine';

/**
 * A call began. @returns told once how it ended: its status, 0 without an answer, null when it does not count (aborted,
 * or a failed change)
 */
export function callBegan(): (status: number | null) => void {
  const timer: Timer = clock.setTimeout(() => {
    late.add(timer);
    show();
  }, SLOW_AFTER_MS);
  return (status) => {
    timer.cancel();
    late.delete(timer);
    if (status !== null) last = status === 0 ? 'away' : status >= 500 ? 'failing' : 'fine';
    show();
  };
}

/** The state, following changes. */
export function useServerState(): ServerState {
  return useSyncExternalStore(subscribe, () => shown);
}

function show(): void {
  const next = last !== 'fine' ? last : late.size > 0 ? 'slow' : 'fine';
  if (next === shown) return;
  shown = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
