import type { Bus, Subject } from '../platform/bus/bus.ts';
import type { Meters } from '../platform/meters.ts';

/** A bus whose requests are measured. @param monotonicMs the clock */
export function measuredBus(bus: Bus, meters: Pick<Meters, 'called'>, monotonicMs: () => number): Bus {
  return {
    ...bus,
    async request(subject, key, payload, timeoutMs) {
      const responder = bus.respondsHere(subject as Subject<unknown>, key) ? 'local' : 'remote';
      const fromMs = monotonicMs();
      const answer = await bus.request(subject, key, payload, timeoutMs);
      meters.called(subject.name, responder, answer.kind, (monotonicMs() - fromMs) / 1_000);
      return answer;
    },
  };
}
