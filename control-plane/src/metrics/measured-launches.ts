import type { LaunchTraces } from '../platform/launch-traces.ts';
import type { Meters } from '../platform/meters.ts';

/**
 * Measures the steps of each launch whose app a viewer saw. The last step of any other launch ended early.
 * @param next receives every launch; null: there is no collector
 */
export function measuredLaunches(
  next: LaunchTraces | null,
  meters: Pick<Meters, 'launchStepEnded'>,
): LaunchTraces {
  return {
    send(trace) {
      if (trace.outcome === 'shown')
        for (const { name, startMs, endMs } of trace.steps)
          meters.launchStepEnded(name, (endMs - startMs) / 1_000);
      next?.send(trace);
    },
  };
}
