import type { Metrics } from './metrics.ts';

export { createMetricsListener } from './listener.ts';
export { measuredBus } from './measured-bus.ts';
export { measuredLaunches } from './measured-launches.ts';

/** The client library is loaded only if metrics are served. */
export async function createMetrics(): Promise<Metrics> {
  return (await import('./metrics.ts')).createMetrics();
}
