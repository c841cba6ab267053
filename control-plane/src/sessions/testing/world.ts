import type { AdminSession, Session, Signaling } from '@footlight/protocol/rest';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { FakeAgent, type FakeAgentOptions, softwareCapacity } from '@footlight/test-harness';
import type { DatabaseTarget, Executor } from '../../platform/database/index.ts';
import {
  type Answer,
  addSession,
  createTestApp,
  loggedActivity,
  PATIENTLY,
  type Person,
  type TestApp,
  type TestAppOptions,
} from '../../testing/index.ts';

const TOKEN = 'a-fixed-enrollment-token';
/** Heartbeat interval of agents while a test advances time. */
const HEARTBEAT_MS = 5_000;

interface LaunchAnswer extends Answer {
  body: { session: Session; signaling: Signaling } & { error?: { code: string; session_id?: string } };
}

/** The whole service on a real port, with fake agents and a manual clock. */
export interface SessionsWorld extends TestApp {
  readonly url: string;
  /** Address of the metrics page; null without SERVICE_METRICS_ADDR. */
  readonly metrics: string | null;
  /** Connects an agent and waits until its host accepts placements. */
  host(nodeName: string, options?: Partial<FakeAgentOptions>): Promise<FakeAgent>;
  /** Reconnects an agent as the same host. */
  reconnect(agent: FakeAgent): Promise<void>;
  /** Waits until a dropped agent's host is offline. */
  offline(agent: FakeAgent): Promise<void>;
  /** Creates an app with an entitlement for everybody. @returns its id */
  app(fields?: Record<string, unknown>): Promise<string>;
  /** Creates a tile below an app. */
  tile(parentId: string, fields?: Record<string, unknown>): Promise<string>;
  launch(as: Person, appId: string, more?: Record<string, unknown>): Promise<LaunchAnswer>;
  /** Launches an app and waits until the session runs. */
  running(as: Person, appId: string, more?: Record<string, unknown>): Promise<Session>;
  /**
   * Inserts a running session without a launch; the session books no slot.
   * @param db transaction for the write; missing: a separate one
   * @returns its id
   */
  runsOn(agent: FakeAgent, as: Person, appId: string, db?: Executor): Promise<string>;
  session(id: string): Promise<Session>;
  /** Waits for a state and returns the session. */
  until(id: string, state: Session['state']): Promise<Session>;
  list(query?: string): Promise<AdminSession[]>;
  /** Number of booked slots on a host's first GPU. */
  slotsUsed(agent: FakeAgent): Promise<number>;
  /** Advances the time while these agents send heartbeats. */
  pass(ms: number, ...agents: FakeAgent[]): Promise<void>;
  /** Rows of the activity log with this action. */
  activity(
    action: string,
  ): Promise<{ target_id: string | null; actor_user_id: string | null; details: unknown }[]>;
}

/** A host with this number of encode slots. */
export const slots = (encode_slots_total: number): Partial<FakeAgentOptions> => ({
  capacity: softwareCapacity({}, { encode_slots_total }),
});

/**
 * @param after the world whose database, wall clock and people this world continues; its service is closed
 * @param env additional variables of the service
 */
export async function openSessionsWorld(
  target: DatabaseTarget,
  after?: SessionsWorld,
  env: Record<string, string> = {},
  options: Partial<Pick<TestAppOptions, 'replicas'>> = {},
): Promise<SessionsWorld> {
  const app = await createTestApp(target, {
    ...options,
    env: { SERVICE_ENROLLMENT_TOKEN: TOKEN, ...env },
    ...(after !== undefined && { seedPeople: false, nowMs: after.clock.nowMs() }),
  });
  if (after !== undefined) Object.assign(app.people, after.people);
  const { http, metrics } = await app.plane.listen();
  const agents: FakeAgent[] = [];
  const { db } = app.plane.platform.database;

  async function ready(agent: FakeAgent): Promise<void> {
    await agent.connect();
    await eventually('the host is ready', async () => {
      const answer = await app.call(app.people.admin, 'GET', `/v1/hosts/${agent.hostId}`);
      return answer.body.capacity_detection === 'ok' && answer.body.status === 'online' ? true : undefined;
    });
  }

  const world: SessionsWorld = {
    ...app,
    url: http,
    metrics,
    async host(nodeName, options = {}) {
      const agent = new FakeAgent({
        url: http,
        nodeName,
        credential: { token: TOKEN },
        heartbeatMs: 0,
        clock: app.clock,
        ...options,
      });
      agents.push(agent);
      await ready(agent);
      return agent;
    },
    reconnect: ready,
    async offline(agent) {
      const isOffline = async () =>
        (await app.call(app.people.admin, 'GET', `/v1/hosts/${agent.hostId}`)).body.status === 'offline'
          ? true
          : undefined;
      await eventually(`${agent.options.nodeName} is offline`, isOffline);
    },
    async app(fields = {}) {
      const answer = await app.call(app.people.admin, 'POST', '/v1/apps', {
        body: { name: 'Demo', runtime_spec: { args: ['demo'] }, ...fields },
      });
      if (answer.status !== 201) throw new Error(`no app: ${answer.text}`);
      return answer.body.app.id as string;
    },
    tile: (parentId, fields = {}) =>
      world.app({
        name: 'Tile',
        parent_app_id: parentId,
        external_source: 'steam',
        external_id: '440',
        runtime_spec: {},
        ...fields,
      }),
    launch: (as, appId, more = {}) =>
      app.call(as, 'POST', '/v1/sessions', { body: { app_id: appId, ...more } }) as Promise<LaunchAnswer>,
    async running(as, appId, more) {
      const { body, text } = await world.launch(as, appId, more);
      if (body.session === undefined) throw new Error(`not launched: ${text}`);
      return world.until(body.session.id, 'running');
    },
    async runsOn(agent, as, appId, tx) {
      const session = {
        appId,
        userId: as.id,
        state: 'running',
        hostId: agent.hostId as string,
        startedAtMs: app.clock.nowMs(),
      } as const;
      const id = await addSession(world, session, tx);
      agent.hold({ session_id: id, app_id: appId });
      return id;
    },
    async session(id) {
      const answer = await app.call(app.people.admin, 'GET', `/v1/sessions/${id}`);
      return answer.body.session as Session;
    },
    async until(id, state) {
      let newest: Session | undefined;
      const inState = async () => {
        newest = await world.session(id);
        return newest.state === state ? newest : undefined;
      };
      return eventually(`session is ${state}`, inState).catch((error: Error) => {
        const { state: now, state_detail, error_message } = newest ?? {};
        throw new Error(`${error.message}, but ${now}, ${state_detail}, ${error_message}`);
      });
    },
    async list(query = '') {
      const answer = await app.call(app.people.admin, 'GET', `/v1/admin/sessions${query}`);
      return answer.body.items as AdminSession[];
    },
    async slotsUsed(agent) {
      const row = await db
        .selectFrom('gpus')
        .select('slots_used')
        .where('host_id', '=', agent.hostId as string)
        .where('gpu_index', '=', 0)
        .executeTakeFirstOrThrow();
      return row.slots_used;
    },
    async pass(ms, ...beating) {
      for (let left = ms; left > 0; left -= HEARTBEAT_MS) {
        await app.clock.pass(Math.min(left, HEARTBEAT_MS));
        await Promise.all(beating.map((agent) => agent.heard()));
        // This stores the heartbeats: five seconds of this clock pass faster than a database write, and a host without
        // heartbeats for 20 s is offline.
        await app.replicas?.settled();
      }
    },
    async activity(action) {
      const rows = await loggedActivity(app, { action });
      return rows.map(({ target_id, actor_user_id, details }) => ({ target_id, actor_user_id, details }));
    },
    async close() {
      await Promise.all(agents.map((agent) => agent.drop()));
      await app.close();
    },
  };
  return world;
}

/** Polls until `ask` returns a value. The deadline uses the real clock, because the sockets are real. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const until = performance.now() + PATIENTLY.timeout;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > until) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
