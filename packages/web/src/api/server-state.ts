/**
 * How well the server answers this page. Every call reports its result, and one notice shows the state. Only failed
 * reads are counted, because a failed change shows its own error and is never repeated.
 */
import type { Timer } from '@footlight/platform/timer';
import { useSyncExternalStore } from 'react';
import { clock } from '../clock.ts';

/**
 * slow: calls have had no answer for long. failing: the server answers with its own errors. away: the server does not
 * answer.
 */
export type ServerState = 'fine' | 'slow' | 'failing' | 'away';

/** Time after which a call counts as slow. Answers normally take a fraction of a second. Chosen, not measured. */
export const SLOW_AFTER_MS = 3_000;

const late = new Set<Timer>();
const listeners = new Set<() => void>();
let last: 'fine' | 'failing' | 'away' = 'fine';
let shown: ServerState = 'fine';

/**
 * Reports the start of a call.
 * @returns a function to call once with the result: the call's status; 0: no answer; null: the result does not count
 *   (the call was aborted, or a change failed)
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

/** The state; the component renders again when it changes. */
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
