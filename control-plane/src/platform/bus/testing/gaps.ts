import type { Bus } from '../bus.ts';

/** Wraps a bus; gap() reports that messages may have been lost. */
export function withGaps(bus: Bus): { bus: Bus; gap(): void; listeners: ReadonlySet<() => void> } {
  const listeners = new Set<() => void>();
  return {
    bus: {
      ...bus,
      onGap(listener) {
        listeners.add(listener);
        return { close: () => void listeners.delete(listener) };
      },
    },
    gap() {
      for (const listener of listeners) listener();
    },
    listeners,
  };
}
