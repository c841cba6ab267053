import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { BuiltReplicas, RECOVERED } from '../testing/built-replicas.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const TIMES = LONG ? 10 : 1;
const LEASE_MS = 30_000;
const SIZE = LONG ? { hosts: 60, sessionsPerHost: 4 } : { hosts: 6, sessionsPerHost: 2 };

describe('three control planes with a fault', () => {
  let fleet: BuiltReplicas;
  beforeAll(async () => {
    fleet = await BuiltReplicas.start(SIZE);
  }, 120_000);
  afterAll(() => fleet?.end(), 60_000);

  const patiently = { timeout: 4 * LEASE_MS, interval: 100 };
  /**
   * Waits until the current leases have expired and another replica has renewed them. Only in the long run, because it
   * takes time.
   */
  async function leasesAreOver(sinceMs: number): Promise<void> {
    if (!LONG) return;
    await vi.waitFor(async () => {
      const lease = "select expires_at from leases where name = 'hosts.presence'";
      const { expires_at } = (await fleet.beside.query(lease)).rows[0];
      expect(Number(expires_at)).toBeGreaterThan(sinceMs + 2 * LEASE_MS);
    }, patiently);
  }
  const isCutOff = (n: number): boolean => {
    const { log } = fleet.at(n).process;
    return log.lastIndexOf('"bus.lost"') > log.lastIndexOf('"bus.connected"');
  };
  const hostsRegisteredSince = async (ms: number): Promise<number> => {
    const moved = 'select count(*)::int as n from hosts where last_registered_at >= $1';
    return (await fleet.beside.query(moved, [ms])).rows[0].n;
  };
  /** Makes all hosts reconnect to these replicas, in turn. Otherwise a replica has no hosts after its first fault. */
  async function connectHostsTo(replicas: readonly URL[]): Promise<void> {
    const cutMs = Date.now();
    fleet.balancer.targets = replicas;
    fleet.balancer.cut();
    await vi.waitFor(async () => expect(await hostsRegisteredSince(cutMs)).toBe(SIZE.hosts), patiently);
    fleet.balancer.targets = fleet.addresses();
  }

  const FAULTS: Record<string, (n: number) => Promise<void>> = {
    'a replica is killed, others take launches at once, and another one is started': async (n) => {
      await fleet.at(n).process.end('SIGKILL');
      fleet.balancer.targets = fleet.addresses(n);
      // The killed replica's hosts are reconnecting to others, but are still stored as online.
      await fleet.expectWorkOf(n + 1, n + 2);
      await fleet.startAgain(n);
      fleet.balancer.targets = fleet.addresses();
    },
    'a replica is suspended, its hosts reconnect to others, and it resumes': async (n) => {
      const stoppedMs = Date.now();
      fleet.at(n).process.signal('SIGSTOP');
      fleet.balancer.targets = fleet.addresses(n);
      fleet.balancer.cut();
      await vi.waitFor(async () => expect(await hostsRegisteredSince(stoppedMs)).toBe(SIZE.hosts), patiently);
      await leasesAreOver(stoppedMs);
      fleet.at(n).process.signal('SIGCONT');
      fleet.balancer.targets = fleet.addresses();
    },
    'a replica is cut off from NATS': async (n) => {
      const { nats } = fleet.at(n);
      nats.mode = 'refuse';
      nats.cut();
      await expect.poll(() => isCutOff(n), RECOVERED).toBe(true);
      await fleet.expectWorkOf(n + 1, n + 2);
      await leasesAreOver(Date.now());
      nats.mode = 'pass';
      await expect.poll(() => isCutOff(n), RECOVERED).toBe(false);
    },
    'a replica is cut off from Postgres, and its packets are dropped': async (n) => {
      const { postgres, process } = fleet.at(n);
      await connectHostsTo([new URL(process.url)]);
      const cutMs = Date.now();
      postgres.mode = 'stall';
      const readiness = async () => (await fetch(`${process.url}/health/ready`)).status;
      await expect.poll(readiness, patiently).toBe(503);
      fleet.balancer.targets = fleet.addresses(n);
      // The replica's hosts move to the others, although only the replica itself can detect the fault.
      await vi.waitFor(async () => expect(await hostsRegisteredSince(cutMs)).toBe(SIZE.hosts), RECOVERED);
      await fleet.expectRecovered([n + 1, n + 2]);
      await fleet.expectWorkOnEachHost(n + 1, n + 2);
      await leasesAreOver(cutMs);
      postgres.mode = 'pass';
      postgres.cut();
      await expect.poll(readiness, patiently).toBe(200);
      fleet.balancer.targets = fleet.addresses();
    },
    'two replicas do not see the third one on the bus': async () => {
      fleet.route.mode = 'refuse';
      fleet.route.cut();
      // Launches and stops use hosts that can be reached.
      await fleet.expectWorkOf(0, 1);
      await leasesAreOver(Date.now());
      const refused = fleet.route.connections;
      fleet.route.mode = 'pass';
      await expect.poll(() => fleet.route.connections, RECOVERED).toBeGreaterThan(refused);
    },
    'NATS ends and is started again': async () => {
      const all = [0, 1, 2];
      for (const server of fleet.nats) await server.crash();
      await expect.poll(() => all.every(isCutOff), RECOVERED).toBe(true);
      for (const server of fleet.nats) await server.start();
      await expect.poll(() => all.some(isCutOff), RECOVERED).toBe(false);
    },
    'Postgres ends and is started again': async () => {
      await fleet.database.primary.crash();
      await fleet.database.primary.start();
    },
    'Postgres fails over to its standby': async () => {
      await fleet.failOver();
      await fleet.expectRecovered();
      await fleet.expectWork();
      await fleet.addStandby();
    },
    'a replica is told to stop, and another one started': async (n) => {
      fleet.balancer.targets = fleet.addresses(n);
      await fleet.at(n).process.end('SIGTERM');
      await fleet.startAgain(n);
      fleet.balancer.targets = fleet.addresses();
    },
  };

  test.each(Object.keys(FAULTS))(
    '%s: no session is lost or doubled, no slot is booked twice',
    async (fault) => {
      for (let n = 0; n < TIMES; n += 1) {
        await connectHostsTo(fleet.addresses());
        await FAULTS[fault]?.(n % 3);
        await fleet.expectRecovered();
        await fleet.expectWork();
      }
    },
    60_000 + TIMES * 150_000,
  );
});
