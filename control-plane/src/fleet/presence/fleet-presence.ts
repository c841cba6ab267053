import { SECOND_MS, type Timer } from '@footlight/platform';
import type { Platform } from '../../platform/platform.ts';
import type { Agents } from '../agents.ts';
import type { HostPresence } from '../fleet.ts';
import { listPresence, markOffline, type PresenceRow } from '../hosts/host-store.ts';
import { countSeenWithin, type FleetSeen, look, NOBODY_SEEN, silentHosts } from './presence-rules.ts';

const SWEEP_MS = 10 * SECOND_MS;

/**
 * Reports which hosts are connected to any replica. Every replica reads this, because any of them may take over the
 * sweep that ends the sessions of lost hosts, and must know then when it last saw them. The leader task marks hosts as
 * offline when their replica has stopped: no new heartbeat of the host is stored, and no replica has its link.
 */
export class FleetPresence implements HostPresence {
  readonly #platform: Platform;
  readonly #agents: Agents;
  #rows = new Map<string, PresenceRow>();
  #seen: FleetSeen = NOBODY_SEEN;
  #timer: Timer | null = null;
  #reading: Promise<void> | null = null;

  constructor(platform: Platform, agents: Agents) {
    this.#platform = platform;
    this.#agents = agents;
    platform.leader.register({
      id: 'hosts.presence',
      everyMs: SWEEP_MS,
      needsBus: true,
      run: async (fence) => {
        await this.look();
        // Ask about all hosts at once, because a replica that hangs answers for none of its hosts.
        const asked = silentHosts(this.#seen, platform.clock.monotonicMs()).map(async (hostId) => {
          const connectionId = this.#rows.get(hostId)?.connection_id ?? null;
          const isKept = connectionId === null || (await this.#mayHaveLink(hostId));
          return isKept ? null : { hostId, connectionId };
        });
        for (const answer of asked) {
          const silent = await answer;
          if (silent === null) continue;
          const { hostId, connectionId } = silent;
          await platform.database.transaction(async (tx) => {
            await fence.check(tx);
            await markOffline(tx, hostId, connectionId);
          });
          platform.logger.warn({ host_id: hostId }, 'host.silent');
        }
      },
    });
  }

  start(): void {
    // A read that fails is repeated by the next one.
    this.#timer = this.#platform.clock.setInterval(() => void this.look().catch(() => undefined), SWEEP_MS);
  }

  close(): void {
    this.#timer?.cancel();
  }

  /** Reads the hosts. Callers share one read, because reads would pile up while the database hangs. */
  look(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const rows = await listPresence(this.#platform.database.db);
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    const stored = rows.map(({ id, status, last_heartbeat_at }) => ({
      id,
      isOffline: status === 'offline',
      heartbeatAt: last_heartbeat_at,
    }));
    this.#seen = look(this.#seen, stored, this.#platform.clock.monotonicMs());
  }

  presence(): ReturnType<HostPresence['presence']> {
    const { connected, firstConnectedAtMs } = this.#seen;
    return { connected, firstConnectedMonotonicMs: firstConnectedAtMs };
  }

  lastSeenMonotonicMs(hostId: string): number | null {
    return this.#seen.hosts.get(hostId)?.seenAtMs ?? null;
  }

  seenWithin(windowMs: number): number {
    return countSeenWithin(this.#seen, windowMs, this.#platform.clock.monotonicMs());
  }

  async isReachable(hostId: string): Promise<boolean> {
    return this.#agents.link(hostId).then(
      (link) => link !== null,
      () => false,
    );
  }

  /** Also true while a replica that may have the link does not answer. */
  async #mayHaveLink(hostId: string): Promise<boolean> {
    return this.#agents.link(hostId).then(
      (link) => link !== null,
      () => true,
    );
  }
}
