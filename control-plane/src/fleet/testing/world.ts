import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createLogger, systemClock, systemRandom } from '@footlight/platform';
import type { SessionEndReason } from '@footlight/protocol';
import type { HeldSession, SessionMetrics, SessionState, SessionTraceEvent } from '@footlight/protocol/agent';
import { ACTIVITY_ACTIONS } from '@footlight/protocol/rest';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { FakeAgent, type FakeAgentOptions } from '@footlight/test-harness';
import { expect, vi } from 'vitest';
import { createInProcessBus } from '../../platform/bus/in-process.ts';
import { type WithOtherReplicas, withOtherReplicas } from '../../platform/bus/testing/other-replicas.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { type DatabaseTarget, lockForRemoval, openDatabase } from '../../platform/database/index.ts';
import { createServer } from '../../platform/http/server.ts';
import { NO_METERS } from '../../platform/meters.ts';
import type { Platform } from '../../platform/platform.ts';
import { PeriodicWriter } from '../../platform/queues/periodic-writer.ts';
import { WriteBatch } from '../../platform/queues/write-batch.ts';
import { PATIENTLY } from '../../testing/patience.ts';
import type { AgentHandlers, GpuLoad, RegisteringHost } from '../fleet.ts';
import {
  createFleet,
  type FleetDeps,
  type FleetService,
  hostSubjects,
  registerFleetRoutes,
} from '../index.ts';

/** The fixed enrollment token of every world. */
export const FIXED_TOKEN = 'a fixed enrollment token';
export const ADMIN_ID = '00000000-0000-4000-8000-00000000000a';

/** Fake of the sessions feature. It records calls and returns the answers that the test configures. */
class RecordingHandlers implements AgentHandlers {
  readonly calls: string[] = [];
  readonly reconciled: { host: RegisteringHost; held: readonly HeldSession[] }[] = [];
  readonly states: { hostId: string; report: SessionState }[] = [];
  readonly events: { hostId: string; event: SessionTraceEvent }[] = [];
  readonly storedEvents: number[] = [];
  readonly metricsSeen: { hostId: string; metrics: SessionMetrics }[] = [];
  readonly heartbeats: { hostId: string; running: readonly string[] }[] = [];
  readonly signals: { hostId: string; sessionId: string }[] = [];
  live = 0;
  homes = 0;
  gpuLoads: GpuLoad[] = [];
  onReconcile: (host: RegisteringHost) => void = () => {};
  onEvents: (seqs: readonly number[]) => Promise<void> = async () => {};
  onState: (report: SessionState) => Promise<void> = async () => {};
  onAfterCommit: (hostId: string) => void = () => {};

  async reconcile(
    _tx: unknown,
    hosts: readonly { host: RegisteringHost; held: readonly HeldSession[] }[],
  ): Promise<{ afterCommit(): void }[]> {
    for (const { host } of hosts) this.onReconcile(host);
    this.reconciled.push(...hosts);
    return hosts.map(({ host }) => ({ afterCommit: () => this.onAfterCommit(host.hostId) }));
  }

  async sessionStates(hostId: string, reports: readonly SessionState[]): Promise<void> {
    for (const report of reports) await this.onState(report);
    this.states.push(...reports.map((report) => ({ hostId, report })));
  }

  heartbeat(hostId: string, _registeredMs: number, running: readonly string[]): void {
    this.heartbeats.push({ hostId, running });
  }

  traceEvent(hostId: string, event: SessionTraceEvent): void {
    this.events.push({ hostId, event });
  }

  async storeEvents(_source: unknown, events: readonly { seq: number }[]): Promise<void> {
    await this.onEvents(events.map(({ seq }) => seq));
    this.storedEvents.push(...events.map(({ seq }) => seq));
  }

  metrics(hostId: string, metrics: SessionMetrics): void {
    this.metricsSeen.push({ hostId, metrics });
  }

  signaling(hostId: string, frame: { session_id: string }): void {
    this.signals.push({ hostId, sessionId: frame.session_id });
  }

  linkLost(hostId: string): void {
    this.calls.push(`linkLost ${hostId}`);
  }

  async stopSessionsOfHost(hostId: string, reason: SessionEndReason): Promise<void> {
    this.calls.push(`stop ${hostId} ${reason}`);
  }

  async countLiveSessions(): Promise<number> {
    return this.live;
  }

  async countReservingSessions(): Promise<number> {
    return this.live;
  }

  async forgetHost(): Promise<{ homes: number }> {
    return { homes: this.homes };
  }

  async loads(): Promise<GpuLoad[]> {
    return this.gpuLoads;
  }
}

interface RecordedAction {
  actorUserId: string | null;
  action: string;
  targetType: string;
  targetId: string | null;
  details: Record<string, unknown> | undefined;
}

export interface FleetWorld extends Pick<WithOtherReplicas, 'gap' | 'publishElsewhere'> {
  url: string;
  fleet: FleetService;
  platform: Platform;
  handlers: RecordingHandlers;
  actions: RecordedAction[];
  /** Calls the API as the administrator, or as the given bearer ("user"; "" for no bearer). */
  call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    bearer?: string,
  ): Promise<{ status: number; body: never; text: string }>;
  /** An agent with the fixed token and without automatic heartbeats, unless `options` overrides it. */
  agent(nodeName: string, options?: Partial<FakeAgentOptions>): FakeAgent;
  isConnected(hostId: string): Promise<boolean>;
  /** Connects an agent. @returns the host's id as soon as the host accepts placements */
  ready(agent: FakeAgent): Promise<string>;
  /** Drops every agent of `agent()` and waits until their hosts are offline. */
  dropAgents(): Promise<void>;
  /**
   * Deletes every host, token and recorded call, so that tests of one file can share the world. The clock and the
   * limits are not reset.
   */
  reset(): Promise<void>;
  /** Writes the received heartbeats. */
  heartbeatsWritten(): Promise<void>;
  close(): Promise<void>;
}

export interface FleetWorldOptions extends Partial<FleetDeps> {
  clock?: Clock;
}

/** The fleet on a real listener and a real database, with a recording fake of the sessions. */
export async function openFleetWorld(
  target: DatabaseTarget,
  options: FleetWorldOptions = {},
): Promise<FleetWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'footlight-fleet-'));
  const clock = options.clock ?? systemClock;
  const logger = createLogger('silent');
  const config = loadConfig({
    SERVICE_DATA_DIR: dir,
    SERVICE_TLS: 'off',
    LISTEN_ADDR: '127.0.0.1:0',
    SERVICE_ENROLLMENT_TOKEN: FIXED_TOKEN,
  });
  const database = await openDatabase(target, { logger });
  const actions: RecordedAction[] = [];
  const writeBatch = new WriteBatch(database);
  const periodicWriter = new PeriodicWriter(clock, writeBatch);
  const { bus, gap, publishElsewhere } = withOtherReplicas(createInProcessBus({ clock, logger }));
  const platform: Platform = {
    config,
    database,
    writeBatch,
    periodicWriter,
    clock,
    random: systemRandom,
    logger,
    bus,
    meters: NO_METERS,
    traces: null,
    webhook: null,
    leader: { register() {}, start() {}, async runNow() {}, held: () => [], async close() {} },
    jobs: {
      handle() {},
      async event() {},
      async changeInterval() {},
      async runNow() {},
    },
    activity: {
      async record(actorUserId, action, targetId, details) {
        actions.push({ actorUserId, action, targetType: ACTIVITY_ACTIONS[action], targetId, details });
      },
      async settled() {},
    },
  };
  const server = await createServer({
    config,
    logger,
    clock: systemClock,
    random: systemRandom,
    certificate: null,
    writable: () => true,
  });
  server.setCallerChecks({
    authenticateNode: async () => null,
    authenticate: async (bearer) =>
      bearer === 'admin' || bearer === 'user'
        ? {
            userId: ADMIN_ID,
            role: bearer,
            tokenId: 'token',
            deviceId: null,
            username: bearer,
            email: `${bearer}@example.test`,
          }
        : null,
    checkClientVersion() {},
  });
  const fleet = createFleet(platform, { socketClock: systemClock, certificate: () => null, ...options });
  const handlers = new RecordingHandlers();
  fleet.links.setHandlers(handlers);
  const reported = new Set<string>();
  platform.bus.subscribe(hostSubjects.changed, null, ({ what }, hostId) => {
    if (what === 'reported' && !reported.has(hostId)) handlers.calls.push(`reported ${hostId}`);
    if (what === 'reported') reported.add(hostId);
    else if (what === 'lost') reported.delete(hostId);
  });
  registerFleetRoutes(server, fleet);
  await fleet.start();
  await server.fastify.ready();
  const { http: url } = await server.listeners.listen();
  const agents: FakeAgent[] = [];
  return {
    url,
    fleet,
    platform,
    handlers,
    actions,
    async call(method, path, body, bearer = 'admin') {
      const answer = await server.fastify.inject({
        method,
        url: path,
        ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: bearer === '' ? {} : { authorization: `Bearer ${bearer}` },
      });
      return {
        status: answer.statusCode,
        text: answer.body,
        body: (answer.body === '' ? null : answer.json()) as never,
      };
    },
    agent(nodeName, more) {
      const agent = new FakeAgent({
        url,
        nodeName,
        credential: { token: FIXED_TOKEN },
        heartbeatMs: 0,
        clock: platform.clock,
        ...more,
      });
      agents.push(agent);
      return agent;
    },
    isConnected: async (hostId) => (await fleet.agents.link(hostId)) !== null,
    async ready(agent) {
      const earlier = handlers.calls.length;
      const { host_id } = await agent.connect();
      await expect.poll(() => handlers.calls.slice(earlier)).toContain(`reported ${host_id}`);
      return host_id;
    },
    async dropAgents() {
      const used = agents.splice(0);
      await Promise.all(used.map((agent) => agent.drop()));
      const held = () => used.filter(({ options }) => fleet.links.has(options.nodeName));
      await vi.waitFor(() => expect(held()).toEqual([]), PATIENTLY);
    },
    async reset() {
      const hosts = await database.db.selectFrom('hosts').select('id').execute();
      for (const { id } of hosts) platform.bus.publish(hostSubjects.changed, id, { what: 'deleted' });
      await database.transaction(async (tx) => {
        const ids = (await tx.selectFrom('hosts').select('id').execute()).map(({ id }) => id);
        // Lock first, because the last heartbeats of a lost link may be written concurrently.
        await lockForRemoval(tx, 'hosts', ids);
        for (const id of ids) await tx.deleteFrom('hosts').where('id', '=', id).execute();
        await tx.deleteFrom('enrollment_tokens').execute();
      });
      actions.length = 0;
      Object.assign(handlers, new RecordingHandlers());
    },
    heartbeatsWritten: () => periodicWriter.flush(),
    gap,
    publishElsewhere,
    async close() {
      await fleet.close();
      await periodicWriter.close();
      await server.listeners.close();
      await server.fastify.close();
      await platform.bus.close();
      await database.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
