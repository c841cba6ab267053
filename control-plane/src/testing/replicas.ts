// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type NatsServer, startNats, TcpRelay } from '@footlight/test-harness';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ControlPlane, ListeningAddresses } from '../app.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { Config } from '../platform/config/config.ts';
import type { Platform } from '../platform/platform.ts';

/** Two rounds, because a message leads to a read, and the read leads to another message. */
const ROUNDS = 2;

/**
 * Number of replicas that the tests start on Postgres. With this variable whole suites run against several replicas.
 */
export const REPLICAS = Number(process.env.FOOTLIGHT_TEST_REPLICAS ?? 1);

/**
 * A test of one process, which does not run against several replicas. For limits that each replica counts separately
 * (docs/replicas.md), and for work that only requests of the same process share, such as a cached read or samples that
 * are not stored yet.
 */
export const ofOneProcess = test.skipIf(REPLICAS > 1);

/** One of several control planes. */
export interface OneReplica {
  readonly plane: ControlPlane;
  /** The replica's own address; empty until all replicas listen. */
  url: string;
  /** Relay between the replica and NATS; a test can interrupt it. */
  readonly way: TcpRelay;
}

export interface Replicas {
  /**
   * The replicas as one control plane. Its platform and features are those of the first replica, but `runNow` runs the
   * task on the replica that has the lease.
   */
  readonly plane: ControlPlane;
  readonly each: readonly OneReplica[];
  readonly nats: NatsServer;
  /**
   * Resolves when every published message has arrived at the other replicas and they have handled it, and when the
   * values are stored that each replica collects for a second.
   */
  settled(): Promise<void>;
}

/**
 * Starts several control planes on one database and one bus, behind one address that distributes connections among them
 * in turn. Injected requests are also distributed in turn.
 */
export async function startReplicas(
  config: Config,
  count: number,
  start: (config: Config) => Promise<ControlPlane>,
): Promise<Replicas> {
  const nats: NatsServer = await startNats();
  const each: OneReplica[] = [];
  const relays: TcpRelay[] = [];
  let closing: Promise<void> | null = null;
  async function close(): Promise<void> {
    for (const { plane } of each) await plane.close();
    for (const relay of relays) relay.close();
    await nats.stop();
  }
  try {
    for (let n = 0; n < count; n += 1) {
      const way = await TcpRelay.to(new URL(`nats://${nats.address}`));
      relays.push(way);
      const bus = { servers: [`127.0.0.1:${way.port}`], auth: null, tls: null };
      each.push({ plane: await start({ ...config, bus }), url: '', way });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const [first] = each as [OneReplica, ...OneReplica[]];
  const run = settling++;
  let requests = 0;
  // A replica without the lease does nothing.
  const inTurn =
    <Words extends unknown[]>(runNow: (platform: Platform, ...words: Words) => Promise<void>) =>
    async (...words: Words) => {
      for (const replica of each) await runNow(replica.plane.platform, ...words);
    };
  const { platform } = first.plane;
  const plane: ControlPlane = {
    ...first.plane,
    platform: {
      ...platform,
      leader: { ...platform.leader, runNow: inTurn(({ leader }, id, instead) => leader.runNow(id, instead)) },
      jobs: { ...platform.jobs, runNow: inTurn(({ jobs }, id) => jobs.runNow(id)) },
    },
    async listen() {
      const addresses: ListeningAddresses[] = [];
      for (const replica of each) {
        const own = await replica.plane.listen();
        replica.url = own.http;
        addresses.push(own);
      }
      const shared = async (scheme: string, urls: readonly (string | null)[]): Promise<string | null> => {
        const targets = urls.flatMap((url) => (url === null ? [] : [new URL(url)]));
        if (targets.length === 0) return null;
        const relay = await TcpRelay.to(...targets);
        relays.push(relay);
        return `${scheme}://127.0.0.1:${relay.port}`;
      };
      return {
        http: (await shared(
          'http',
          addresses.map(({ http }) => http),
        )) as string,
        https: await shared(
          'https',
          addresses.map(({ https }) => https),
        ),
        metrics: addresses[0]?.metrics ?? null,
      };
    },
    inject: ((...words: Parameters<ControlPlane['inject']>) =>
      (each[requests++ % count] as OneReplica).plane.inject(...words)) as ControlPlane['inject'],
    async drain() {
      for (const replica of each) await replica.plane.drain();
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
  const pairs = each.flatMap((from) => each.filter((to) => to !== from).map((to) => ({ from, to })));
  const keyOf = (replica: OneReplica) => `${run}-${each.indexOf(replica)}`;
  for (const replica of each) replica.plane.platform.bus.respond(settles, keyOf(replica), async () => ({}));
  const ask = ({ from, to }: (typeof pairs)[number]) =>
    from.plane.platform.bus.request(settles, keyOf(to), {}, 1_000);
  // `expect.poll` works only in tests, and most worlds are opened before the tests.
  for (const pair of pairs) await vi.waitFor(async () => expect((await ask(pair)).kind).toBe('reply'));
  async function settled(): Promise<void> {
    // Before a replica reads telemetry, it stores what it collected itself, but not what the others did.
    await Promise.all(each.map(({ plane }) => plane.platform.periodicWriter.flush()));
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all(pairs.map(ask));
      // Wait for a read, because the handler of a message also reads the database first.
      await Promise.all(
        each.map(({ plane: { platform } }) =>
          platform.database.db.selectFrom('leases').select('name').execute(),
        ),
      );
    }
  }
  return { plane, each, nats, settled };
}

const settles = { name: 'test.settles', payload: z.object({}), reply: z.object({}) };
let settling = 0;

/**
 * Waits until `to` has received all earlier messages of `from`. Messages of one connection arrive in order, so an
 * answered request proves it.
 */
export async function passed(from: Bus, to: Bus): Promise<void> {
  const key = String(settling++);
  const responder = to.respond(settles, key, async () => ({}));
  // Poll, because the server must first receive the subscription of the responder.
  await expect.poll(async () => (await from.request(settles, key, {}, 5_000)).kind).toBe('reply');
  responder.close();
}
