import type { Subscription } from '../../platform/bus/bus.ts';
import type { SampledGpu } from '../reports/heartbeat-buffer.ts';
import { LoadHistory } from '../reports/load-history.ts';
import type { AgentLink } from './link.ts';
import type { ReportSequence } from './report-sequence.ts';

/**
 * In-memory state of one host, in addition to its record.
 *
 * The host's first registration in this process creates the entry. The entry outlives each link, because the next link
 * needs the time of the last frame and the numbers of handled reports. It is dropped when the host's record is deleted,
 * so the number of hosts bounds the memory.
 */
export interface HostMemory {
  link: AgentLink | null;
  /** Bus subscriptions for this host while its link is up. */
  subscriptions: readonly Subscription[];
  reports: ReportSequence | null;
  /** Arrived events that are not stored yet (count). */
  unstoredEvents: number;
  gpus: readonly SampledGpu[];
  /** Kept when the link is lost, so that a page still shows the load from before a short disconnect. */
  readonly load: LoadHistory;
  /**
   * Whether a console configuration exists; null: unknown, because no capacity of this connection is stored yet or the
   * configuration changed.
   */
  hasConsole: boolean | null;
  /** Number of configuration pushes. */
  pushes: number;
  lastSeenMs: number;
  /** Number of committed registrations. A registration detects with it that a newer one was committed. */
  registrations: number;
}

/** @param lastSeenMs time of the host's registration, monotonic ms */
export const newHostMemory = (lastSeenMs: number): HostMemory => ({
  link: null,
  subscriptions: [],
  reports: null,
  unstoredEvents: 0,
  gpus: [],
  load: new LoadHistory(),
  hasConsole: null,
  pushes: 0,
  lastSeenMs,
  registrations: 0,
});
