/**
 * Derives from the database which hosts of the fleet are connected. Every replica writes the heartbeats of its hosts
 * there. The rules only check whether a value changed between two reads. They never compare it with this machine's
 * clock, because clocks of replicas differ.
 *
 * Pure. Times are milliseconds on the monotonic clock of the reading replica.
 */
import { SECOND_MS } from '@footlight/platform';

/** A host as it is stored in the database. */
export interface StoredPresence {
  id: string;
  isOffline: boolean;
  /**
   * Time of the last stored heartbeat, epoch ms on the clock of the replica that stored it; null: no heartbeat is
   * stored.
   */
  heartbeatAt: number | null;
}

interface Seen {
  readonly heartbeatAt: number | null;
  /** Time of the last read that found a new heartbeat; null: the host was offline at every read. */
  readonly seenAtMs: number | null;
  readonly isOffline: boolean;
}

export interface FleetSeen {
  readonly hosts: ReadonlyMap<string, Seen>;
  /** Time when the number of connected hosts last rose from zero; null: never. */
  readonly firstConnectedAtMs: number | null;
  readonly connected: number;
}

export const NOBODY_SEEN: FleetSeen = { hosts: new Map(), firstConnectedAtMs: null, connected: 0 };

/** A heartbeat is sent every 5 s and stored within a second, so after this time three are missing. */
const SILENT_AFTER_MS = 20 * SECOND_MS;

/**
 * The state after one read of all hosts. A host that is read for the first time and is not offline counts as seen now.
 */
export function look(before: FleetSeen, stored: readonly StoredPresence[], nowMs: number): FleetSeen {
  const hosts = new Map<string, Seen>();
  let connected = 0;
  for (const { id, isOffline, heartbeatAt } of stored) {
    const known = before.hosts.get(id);
    const isNew = known === undefined ? !isOffline : known.heartbeatAt !== heartbeatAt;
    const seenAtMs = isNew ? nowMs : (known?.seenAtMs ?? null);
    hosts.set(id, { heartbeatAt, isOffline, seenAtMs });
    if (!isOffline && seenAtMs !== null && nowMs - seenAtMs < SILENT_AFTER_MS) connected += 1;
  }
  const rises = before.connected === 0 && connected > 0;
  return { hosts, connected, firstConnectedAtMs: rises ? nowMs : before.firstConnectedAtMs };
}

/** Hosts that are stored as connected but have sent no heartbeat for a while: their replica may have stopped. */
export function silentHosts({ hosts }: FleetSeen, nowMs: number): string[] {
  return [...hosts]
    .filter(
      ([, { isOffline, seenAtMs }]) =>
        !isOffline && (seenAtMs === null || nowMs - seenAtMs >= SILENT_AFTER_MS),
    )
    .map(([id]) => id);
}

export function countSeenWithin({ hosts }: FleetSeen, windowMs: number, nowMs: number): number {
  let count = 0;
  for (const { seenAtMs } of hosts.values())
    if (seenAtMs !== null && nowMs - seenAtMs <= windowMs) count += 1;
  return count;
}
