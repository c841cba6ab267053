import { useSyncExternalStore } from 'react';
import type { PadKind } from './pad-kind.ts';

/** The input device that the person used last; a gamepad by the kind of its button labels. */
export type InputKind = 'pointer' | 'keys' | PadKind;

let kind: InputKind = 'pointer';
const listeners = new Set<() => void>();

/**
 * Records the input device. The document's `data-input` lets styles show the focus for a gamepad, because browsers do
 * not set :focus-visible for it.
 */
export function noteInput(used: InputKind): void {
  if (kind === used) return;
  kind = used;
  document.documentElement.dataset.input = used === 'pointer' || used === 'keys' ? used : 'pad';
  for (const listener of listeners) listener();
}

/** The input device that the person used last; the component renders again when it changes. */
export function useInputKind(): InputKind {
  return useSyncExternalStore(subscribe, () => kind);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
