import type { Bus, Subject } from '../bus.ts';

export interface WithOtherReplicas {
  bus: Bus;
  /** Reports that messages of other replicas may have been lost. */
  gap(): void;
  /** Listeners for gaps. */
  listeners: ReadonlySet<() => void>;
  /** Delivers a message as if another replica had published it. */
  publishElsewhere<Payload>(subject: Subject<Payload>, key: string, payload: Payload): void;
}

/** Wraps the bus of a single replica, as if there were others. */
export function withOtherReplicas(bus: Bus): WithOtherReplicas {
  const listeners = new Set<() => void>();
  const received = new Map<string, Set<(payload: never, key: string) => void>>();
  return {
    bus: {
      ...bus,
      subscribeOthers({ name }, deliver) {
        const delivers = received.get(name) ?? new Set();
        received.set(name, delivers.add(deliver));
        return { close: () => void delivers.delete(deliver) };
      },
      onGap(listener) {
        listeners.add(listener);
        return { close: () => void listeners.delete(listener) };
      },
    },
    gap() {
      for (const listener of listeners) listener();
    },
    listeners,
    publishElsewhere({ name }, key, payload) {
      for (const deliver of received.get(name) ?? []) deliver(payload as never, key);
    },
  };
}
