/**
 * How the server answers this page: every call reports its result, and one notice shows the state. A failed change
 * shows its own error and is never repeated, so only failed reads count here.
 */
import type { Timer } from '@footlight/platform/timer';
import { useSyncExternalStore } from 'react';
import { clock } from '../clock.ts';

/** slow: calls have been unanswered for long. failing: it answers with its own faults. away: it does not answer. */
export type ServerState = 'fine' | 'slow' | 'failing' | 'away';

/** Answers of a fleet take a fraction of a second; after this time a person starts to wonder. Chosen, not measured. */
export const SLOW_AFTER_MS = 3_000;

const late = new Set<Timer>();
const listeners = new Set<() => void>();
let last: 'fine' | 'failing' | 'away' = 'fine';
let shown: ServerState = 'fine';

/**
 * Reports the start of a call.
 * @returns to be called once with the result: its status, 0 without an answer, null when it does not count (aborted, or
 * a failed change)
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

/** The state, updated on changes. */
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
