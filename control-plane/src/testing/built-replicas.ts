import { setMaxListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import type { Session } from '@footlight/protocol/rest';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import * as harness from '@footlight/test-harness';
import pg from 'pg';
import { expect, vi } from 'vitest';
import {
  type Balancer,
  type BalancerName,
  type BalancerPorts,
  freeBalancerPorts,
  startBalancer,
} from './load-balancers.ts';
import { askOwnProcess, type OwnProcess, startOwnProcess } from './own-process.ts';
import { WatchingViewers } from './watching-viewers.ts';

const REPLICAS = 3;
/** Time limit for the complete recovery after a fault, without an operator. */
export const RECOVERED = { timeout: 20_000, interval: 100 };
/** Number of sessions with a viewer. Each picture needs an encoder, so only a few of the sessions have one. */
const WATCHED = 3;
/** Longest time without a new frame. Pictures come every 33 ms, but this process also runs all hosts. */
const FROZEN_MS = 1_000;
/** Interval of the writes that must not be lost. */
const WRITE_EVERY_MS = 500;
const BUS_TOKEN = 'a-token';
const ENROLLMENT = 'a-fixed-enrollment-token';
/** The person who claims the instance. */
export const ADA = {
  email: 'ada@example.org',
  username: 'ada',
  password: 'a-long-enough-pass-phrase',
  device_key: 'd',
};

/** One built control plane. It reaches Postgres and NATS through relays that a test can interrupt. */
interface BuiltReplica {
  process: OwnProcess;
  /** Its port stays the same when it is started again. */
  readonly port: number;
  readonly postgres: harness.TcpRelay;
  readonly nats: harness.TcpRelay;
}

export interface FleetSize {
  hosts: number;
  sessionsPerHost: number;
  /** Load balancer, configured as in deploy/, that replaces the relay in front of the replicas. */
  behind?: BalancerName;
  /** Checkout of the release that the replicas run until they are started again. Default: this checkout. */
  firstRelease?: string;
}

/**
 * Three built control planes on a Postgres with a standby and on a cluster of two NATS servers, with hosts that
 * reconnect automatically and sessions that must survive. The first two replicas use the first NATS server, the third
 * one the second.
 */
export class BuiltReplicas {
  readonly each: BuiltReplica[] = [];
  readonly agents: harness.FakeAgent[] = [];
  /** Sessions that must run until the end of the test. */
  readonly sessions: string[] = [];
  readonly #viewers = new WatchingViewers((id) => this.#viewerAccess(id));
  readonly #size: FleetSize;
  readonly #folder = mkdtempSync(join(tmpdir(), 'built-replicas-'));
  readonly #leave = new AbortController();
  readonly #stays: Promise<void>[] = [];
  /** Names of the apps that were created while faults happened. */
  readonly #acknowledged: string[] = [];
  readonly #writes = new Set<Promise<void>>();
  #appCount = 0;
  #ends: (() => unknown)[] = [];
  bearer = '';
  appId = '';
  /** Requests of this class to any replica that failed, with the answer or the error. */
  readonly failed: string[] = [];
  /** Set by `#start`. */
  database!: Awaited<ReturnType<typeof harness.startPostgresPair>>;
  nats: harness.NatsServer[] = [];
  /** The connection between the two NATS servers. */
  route!: harness.TcpRelay;
  /** Relay to any replica; hosts use its address. Unused behind a load balancer. */
  balancer!: harness.TcpRelay;
  #front: Balancer | null = null;
  #ports: BalancerPorts | null = null;
  /** Reads the database even if the replicas fail. */
  beside!: pg.Pool;
  #besideWay!: harness.TcpRelay;

  private constructor(size: FleetSize) {
    this.#size = size;
    // One listener for each host; Node warns of a leak above ten.
    setMaxListeners(size.hosts + 10, this.#leave.signal);
  }

  static async start(size: FleetSize): Promise<BuiltReplicas> {
    const fleet = new BuiltReplicas(size);
    try {
      await fleet.#start();
      return fleet;
    } catch (error) {
      await fleet.end();
      throw error;
    }
  }

  async #start(): Promise<void> {
    this.#ends.push(() => rmSync(this.#folder, { recursive: true, force: true }));
    this.database = await harness.startPostgresPair();
    // If there were deadlocks, `stop` throws with their statements.
    this.#ends.push(async () => {
      await this.database.standby.stop();
      await this.database.primary.stop();
    });
    const url = new URL((await this.database.primary.createDatabase()).url);
    await this.#startNats();
    if (this.#size.behind) this.#ports = await freeBalancerPorts();
    for (let n = 0; n < REPLICAS; n += 1) {
      const replica = {
        port: await harness.freePort(),
        postgres: await this.#relay(new URL(`postgres://${url.host}`)),
        nats: await this.#relay(new URL(`nats://${this.nats[n === 2 ? 1 : 0]?.address}`)),
      };
      this.each.push({
        ...replica,
        process: await this.#launchProcess(n, replica, url, this.#size.firstRelease),
      });
    }
    this.balancer = await this.#relay(...this.addresses());
    if (this.#size.behind && this.#ports !== null) {
      const controls = this.addresses().map(({ host }) => host);
      const front = startBalancer(this.#size.behind, this.#folder, this.#ports, controls);
      this.#front = front;
      this.#ends.push(() => front.end());
    }
    this.#besideWay = await this.#relay(new URL(`postgres://${url.host}`));
    this.beside = new pg.Pool({ connectionString: through(url, this.#besideWay), max: 1 });
    this.beside.on('error', () => undefined);
    this.#ends.push(() => this.beside.end());
    await this.#claim();
    await this.#addHosts();
    this.#ends.push(() => this.#viewers.close());
    for (const id of this.sessions.slice(0, WATCHED)) await this.#viewers.watch(id);
    const writing = systemClock.setInterval(() => this.#write(), WRITE_EVERY_MS);
    this.#ends.push(async () => {
      writing.cancel();
      await Promise.all(this.#writes);
    });
  }

  /**
   * Creates an app through any replica. The write may fail during a fault (`failed`), but it must be stored if it is
   * answered.
   */
  #write(): void {
    const name = `App ${this.#appCount++}`;
    const write = this.#askAny('POST', '/v1/apps', { name, runtime_spec: { args: ['demo'] } })
      .then(() => void this.#acknowledged.push(name))
      .catch(() => undefined)
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  async #startNats(): Promise<void> {
    const words = (clusterPort: number) => [
      ...['--auth', BUS_TOKEN, '--cluster_name', 'footlight', '--no_advertise'],
      ...['--cluster', `nats://127.0.0.1:${clusterPort}`],
    ];
    const port = await harness.freePort();
    this.nats.push(await harness.startNats(words(port)));
    this.route = await this.#relay(new URL(`nats://127.0.0.1:${port}`));
    const routes = ['--routes', `nats://127.0.0.1:${this.route.port}`];
    this.nats.push(await harness.startNats([...words(await harness.freePort()), ...routes]));
    for (const server of this.nats) this.#ends.push(() => server.stop());
  }

  async #relay(...targets: URL[]): Promise<harness.TcpRelay> {
    const relay = await harness.TcpRelay.to(...targets);
    this.#ends.push(() => relay.close());
    return relay;
  }

  async #launchProcess(
    n: number,
    { port, postgres, nats }: Omit<BuiltReplica, 'process'>,
    url: URL,
    checkout?: string,
  ): Promise<OwnProcess> {
    const process = await startOwnProcess(join(this.#folder, String(n)), {
      ...(checkout !== undefined && { checkout }),
      env: {
        DATABASE_URL: through(url, postgres),
        SERVICE_BUS_URL: `nats://${BUS_TOKEN}@127.0.0.1:${nats.port}`,
        LISTEN_ADDR: `127.0.0.1:${port}`,
        SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
        SERVICE_ARTWORK_DIR: join(this.#folder, 'artwork'),
        ...(this.#ports !== null && {
          PUBLIC_BASE_URL: `https://127.0.0.1:${this.#ports.https}`,
          SERVICE_TRUSTED_PROXIES: '127.0.0.1',
          SERVICE_DRAIN_SECS: '3',
        }),
      },
    });
    this.#databaseUrl = url;
    this.#ends.push(async () => {
      process.signal('SIGCONT');
      await process.end('SIGKILL');
    });
    return process;
  }
  #databaseUrl!: URL;

  async #claim(): Promise<void> {
    const minted = this.each.findIndex(({ process }) => process.log.includes('setup-token'));
    const file = join(this.#folder, String(Math.max(minted, 0)), 'setup-token');
    const claimed = await fetch(`${this.each[0]?.process.url}/v1/setup/claim`, {
      method: 'POST',
      headers: { 'x-service-setup-token': readFileSync(file, 'utf8').trim() },
      body: JSON.stringify(ADA),
    });
    this.bearer = ((await claimed.json()) as { access_token: string }).access_token;
    await this.beside.query('update users set max_concurrent_sessions = 1000');
    const app = { name: 'Demo', runtime_spec: { args: ['demo'] } };
    this.appId = (await this.ask(0, 'POST', '/v1/apps', app)).app.id;
  }

  async #addHosts(): Promise<void> {
    const { hosts, sessionsPerHost } = this.#size;
    this.#ends.push(async () => {
      this.#leave.abort();
      await Promise.all(this.agents.map((agent) => agent.drop()));
      await Promise.all(this.#stays);
    });
    for (let n = 0; n < hosts; n += 1) {
      const agent = new harness.FakeAgent({
        url: this.url,
        nodeName: `host-${n}`,
        credential: { token: ENROLLMENT },
        capacity: harness.softwareCapacity({}, { encode_slots_total: sessionsPerHost + 1 }),
        onSignaling: (frame, sender) => this.#viewers.hear(frame, sender),
      });
      this.agents.push(agent);
      await agent.connect();
      await agent.drop();
      this.#stays.push(agent.stay(this.#leave.signal));
    }
    await this.expectRecovered();
    for (let n = 0; n < hosts * sessionsPerHost; n += 1) this.sessions.push(await this.launch(n));
    await this.expectRecovered();
  }

  /** Ends everything; what was started last ends first. */
  async end(): Promise<void> {
    const ends = this.#ends.reverse();
    this.#ends = [];
    for (const end of ends) await end();
  }

  at(n: number): BuiltReplica {
    return this.each[n % REPLICAS] as BuiltReplica;
  }

  /** @param without the replica that is left out */
  addresses(without?: number): URL[] {
    return this.each.filter((_replica, n) => n !== without).map(({ process }) => new URL(process.url));
  }

  /** Starts a replica that has ended, with the same address as before and the release of this checkout. */
  async startAgain(n: number): Promise<void> {
    const replica = this.at(n);
    replica.process = await this.#launchProcess(n % REPLICAS, replica, this.#databaseUrl);
  }

  /** Last lines of the load balancer. */
  get balancerLog(): string {
    return this.#front?.log ?? '';
  }

  /** Address that leads to any replica. */
  get url(): string {
    return this.#front?.url ?? `http://127.0.0.1:${this.balancer.port}`;
  }

  /** Sends a request to any replica on a new connection. @throws Error with the answer of a refusal */
  async #askAny(method: string, path: string, body?: object) {
    const api = new harness.ApiClient(this.url);
    try {
      return await api.ask(method, path, { token: this.bearer, body });
    } catch (error) {
      this.failed.push(`${method} ${path}: ${error}`);
      throw error;
    } finally {
      await api.close();
    }
  }

  async #viewerAccess(sessionId: string): Promise<harness.ViewerAccess> {
    return (await this.#askAny('POST', `/v1/sessions/${sessionId}/signaling-token`)).signaling;
  }

  /** Sends a request to replica `n`. @throws Error with the answer of a refusal */
  ask(n: number, method: string, path: string, body?: object) {
    return askOwnProcess(this.at(n).process, method, path, { bearer: this.bearer, body });
  }

  async launch(n: number): Promise<string> {
    return (await this.ask(n, 'POST', '/v1/sessions', { app_id: this.appId })).session.id;
  }

  async stateAt(n: number, id: string): Promise<string> {
    return ((await this.ask(n, 'GET', `/v1/sessions/${id}`)).session as Session).state;
  }

  /** The second Postgres takes over from the first, which ends. `addStandby` must follow before the next failover. */
  async failOver(): Promise<void> {
    const { primary, standby } = this.database;
    await primary.crash();
    await standby.takeOver();
    for (const way of [this.#besideWay, ...this.each.map(({ postgres }) => postgres)]) {
      way.targets = [new URL(standby.url)];
      way.cut();
    }
  }

  /** Replaces the first Postgres, which has ended: the second one is now the first, and gets a new standby. */
  async addStandby(): Promise<void> {
    const { primary: ended, standby: primary } = this.database;
    this.database = { primary, standby: await primary.addStandby() };
    await ended.stop();
  }

  /** Expects that the system has recovered from a fault, according to the database and the given replicas. */
  async expectRecovered(asked: readonly number[] = [0, 1, 2]): Promise<void> {
    // Hosts of a killed replica are stored as online until their heartbeats are missed.
    await vi.waitFor(() => expect(this.agents.filter(({ isOpen }) => !isOpen)).toEqual([]), RECOVERED);
    await vi.waitFor(async () => {
      const { rows } = await this.beside.query(
        "select count(*)::int as n from hosts where status = 'online' and capacity_detection = 'ok'",
      );
      expect(rows[0].n).toBe(this.#size.hosts);
    }, RECOVERED);
    await vi.waitFor(async () => {
      const states = await Promise.all(
        this.sessions.map((id, n) => this.stateAt(asked[n % asked.length] as number, id)),
      );
      expect(states.filter((state) => state !== 'running')).toEqual([]);
    }, RECOVERED);
    const { rows } = await this.beside.query(
      "select id from sessions where state not in ('stopped', 'failed')",
    );
    expect(rows.filter(({ id }) => !this.sessions.includes(id))).toEqual([]);
    const wrong = await this.beside.query(
      `select gpus.id from gpus left join sessions on sessions.gpu_id = gpus.id
        and sessions.state in ('assigned', 'starting', 'running', 'stopping')
       group by gpus.id, gpus.slots_used, gpus.slots_total
       having gpus.slots_used <> coalesce(sum(sessions.encode_slots), 0) or gpus.slots_used > gpus.slots_total`,
    );
    expect(wrong.rows).toEqual([]);
    const held = this.agents.flatMap(({ sessions }) => [...sessions.values()]);
    const running = held.filter(({ state }) => state === 'running').map(({ session_id }) => session_id);
    expect(running.toSorted()).toEqual(this.sessions.toSorted());
    const acknowledged = [...this.#acknowledged];
    const stored = await this.beside.query('select name from apps where name = any($1)', [acknowledged]);
    expect(stored.rows.map(({ name }) => name).toSorted()).toEqual(acknowledged.toSorted());
    await this.#viewers.expectConnected(RECOVERED);
    expect(this.#viewers.takeLongestGapMs()).toBeLessThan(FROZEN_MS);
  }

  /** Launches a session through replica `n`, expects through the other replica that it runs, and stops it there. */
  async expectWorkOf(n: number, other: number): Promise<void> {
    // Retry like a person would, because a broken connection to Postgres makes a launch fail.
    const id = await vi.waitFor(() => this.launch(n), RECOVERED);
    await expect.poll(() => this.stateAt(other, id), RECOVERED).toBe('running');
    await this.ask(other, 'DELETE', `/v1/sessions/${id}`);
    await expect.poll(() => this.stateAt(n, id), RECOVERED).toBe('stopped');
  }

  /** Launches one session per host, which fills the one free slot of each host, and expects that all run. */
  async expectWorkOnEachHost(n: number, other: number): Promise<void> {
    const ids: string[] = [];
    for (let host = 0; host < this.#size.hosts; host += 1) ids.push(await this.launch(n));
    const states = () => Promise.all(ids.map((id) => this.stateAt(other, id)));
    await expect.poll(states, RECOVERED).toEqual(ids.map(() => 'running'));
    for (const id of ids) await this.ask(other, 'DELETE', `/v1/sessions/${id}`);
    await expect.poll(states, RECOVERED).toEqual(ids.map(() => 'stopped'));
  }

  /** Expects that each replica can launch and stop sessions, independent of the replica with the host's link. */
  async expectWork(): Promise<void> {
    for (let n = 0; n < REPLICAS; n += 1) await this.expectWorkOf(n, n + 1);
  }
}

/** The same database through a relay. */
function through(url: URL, relay: harness.TcpRelay): string {
  const changed = new URL(url);
  changed.port = String(relay.port);
  return changed.href;
}
