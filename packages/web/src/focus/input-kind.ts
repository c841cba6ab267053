import { useSyncExternalStore } from 'react';
import type { PadKind } from './pad-kind.ts';

/** What the person used last; a gamepad by the kind of its button signs. */
export type InputKind = 'pointer' | 'keys' | PadKind;

let kind: InputKind = 'pointer';
const listeners = new Set<() => void>();

/**
 * Records what was used. The document's `data-input` lets styles show the focus for a gamepad, for which the browser
 * does not set :focus-visible.
 */
export function noteInput(used: InputKind): void {
  if (kind === used) return;
  kind = used;
  document.documentElement.dataset.input = used === 'pointer' || used === 'keys' ? used : 'pad';
  for (const listener of listeners) listener();
}

/** What the person used last; updated on changes. */
export function useInputKind(): InputKind {
  return useSyncExternalStore(subscribe, () => kind);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
