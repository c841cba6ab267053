import { readdirSync } from 'node:fs';
import { METHODS } from 'node:http';
import type { TcpRelay } from '@footlight/test-harness';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Bus } from '../platform/bus/bus.ts';
import { openSessionsWorld } from '../sessions/testing/world.ts';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';
import { passed } from '../testing/replicas.ts';

/** Methods that Node accepts and this service does not use. */
const UNUSUAL = METHODS.filter(
  (method) => !/^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT)$/.test(method),
);

/** The lines of the page: each series with its value. */
type Series = ReadonlyMap<string, number>;

describeDatabases('the metrics page', ({ dialect, fresh }) => {
  let app: TestApp | null = null;
  let page = '';

  /** The page shows the numbers of one process: of the first replica. */
  async function open(replicas = 1): Promise<TestApp> {
    const env = { SERVICE_METRICS_ADDR: '127.0.0.1:0' };
    app = await createTestApp(await fresh(), { env, replicas });
    page = (await app.plane.listen()).metrics ?? '';
    return app;
  }
  afterEach(async () => {
    await app?.close();
    app = null;
  });

  async function read(): Promise<Series> {
    const answer = await fetch(page);
    expect(answer.status).toBe(200);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
  }

  test('counts answers by the declared route, never by the values in the path', async () => {
    const { call, people } = await open();
    await call(people.alice, 'GET', `/v1/sessions/${UNKNOWN_ID}`);
    await call(people.alice, 'GET', '/v1/apps');
    await call(people.alice, 'GET', '/v1/apps?q=secret');
    await call(null, 'GET', '/v1/apps');
    const series = await read();
    const count = (route: string, status: number) =>
      series.get(`footlight_http_requests_total{method="GET",route="${route}",status="${status}"}`);
    expect(count('/v1/apps', 200)).toBe(2);
    expect(count('/v1/apps', 401)).toBe(1);
    expect(count('/v1/sessions/:id', 403)).toBe(1);
    expect(series.get('footlight_http_request_seconds_count{method="GET",route="/v1/apps"}')).toBe(3);
    expect([...series.keys()].join()).not.toMatch(new RegExp(`${UNKNOWN_ID}|secret|alice`));
  });

  test('hostile methods, paths and ids add no series', async () => {
    const { call, people } = await open();
    const attack = async (n: number) => {
      await call(null, 'PROPFIND', `/v1/${n}`);
      await call(null, 'GET', `/nowhere/${n}"}\n# HELP x`);
      await call(people.alice, 'GET', `/v1/sessions/${n}`);
      await call(people.alice, 'POST', '/v1/sessions', { body: { app_id: UNKNOWN_ID, tier: `${n}` } });
      await call(people.alice, 'DELETE', `/v1/favorites/${n}`);
      await call(people.admin, 'GET', `/v1/admin/${n}/${n}`);
    };
    // Leave out the series of garbage collection: each of four kinds adds its series at an unpredictable time,
    // independent of clients.
    const names = async () =>
      [...(await read()).keys()].filter((name) => !name.startsWith('nodejs_gc_duration_seconds'));
    await attack(0);
    const before = await names();
    for (let n = 1; n <= 20; n += 1) await attack(n);
    expect(await names()).toEqual(before);
    for (const method of UNUSUAL) await call(null, method, '/v1/0');
    const methods = (await names()).flatMap((name) => /method="(\w+)"/.exec(name)?.[1] ?? []);
    expect([...new Set(methods)].toSorted()).toEqual(['DELETE', 'GET', 'POST', 'other']);
  });

  test('counts launches by their outcome', async () => {
    const { call, people } = await open();
    await call(people.alice, 'POST', '/v1/sessions', { body: { app_id: UNKNOWN_ID } });
    expect((await read()).get('footlight_launches_total{outcome="not_found"}')).toBe(1);
  });

  test('measures how long sessions lived', async () => {
    const { call, clock, people } = await open();
    const made = await call(people.admin, 'POST', '/v1/apps', { body: { name: 'Terminal' } });
    const id = await addSession(app as TestApp, {
      appId: made.body.app.id,
      userId: people.alice.id,
      state: 'pending',
      createdAtMs: clock.nowMs() - 90_000,
    });
    await call(people.alice, 'DELETE', `/v1/sessions/${id}`);
    const series = await read();
    expect(series.get('footlight_session_life_seconds_sum{state="stopped"}')).toBe(90);
    expect(series.get('footlight_session_life_seconds_bucket{le="60",state="stopped"}')).toBe(0);
    expect(series.get('footlight_session_life_seconds_bucket{le="300",state="stopped"}')).toBe(1);
  });

  test('measures the steps of a launch that a viewer saw, and of no other', async () => {
    const world = await openSessionsWorld(
      await fresh(),
      undefined,
      { SERVICE_METRICS_ADDR: '127.0.0.1:0' },
      { replicas: 1 },
    );
    app = world;
    page = world.metrics ?? '';
    const { alice } = world.people;
    await world.host('gpu-01');
    const appId = await world.app();
    const unseen = await world.running(alice, appId);
    await world.call(alice, 'DELETE', `/v1/sessions/${unseen.id}`);
    await world.until(unseen.id, 'stopped');
    const { id } = await world.running(alice, appId);
    await expect.poll(async () => (await world.session(id)).state_detail).toBe('app presented');
    await world.pass(700);
    const seen = {
      ts_unix_ms: world.clock.nowMs(),
      type: 'client.first_frame',
      payload: { since_launch_ms: 600, flat: false },
    };
    const path = `/v1/sessions/${id}/trace/events`;
    await world.call(alice, 'POST', path, { body: { client: 'browser', events: [seen] } });
    const series = await read();
    const steps = [...series].filter(([name]) => name.startsWith('footlight_launch_step_seconds_count'));
    expect(steps.map(([name, count]) => [/step="(.+)"/.exec(name)?.[1], count])).toEqual([
      ['admission', 1],
      ['session_assign', 1],
      ['session_start', 1],
      ['starting display', 1],
      ['starting app', 1],
      ['starting encoder', 1],
      ['app booting', 1],
      ['picture at the viewer', 1],
    ]);
    const seconds = [...series].filter(([name]) => name.startsWith('footlight_launch_step_seconds_sum'));
    expect(seconds.reduce((sum, [, value]) => sum + value, 0)).toBeCloseTo(0.6);
  });

  test('counts the encode slots of the reported GPUs of online hosts', async () => {
    const { plane } = await open();
    const { db } = plane.platform.database;
    let series = await read();
    expect(series.get('footlight_encode_slots')).toBe(0);
    const add = async (
      name: string,
      status: 'online' | 'draining' | 'offline',
      capacity_detection: 'ok' | 'failed',
      reported: 0 | 1,
    ) => {
      const id = await addHost(app as TestApp, name);
      await db.updateTable('hosts').set({ status, capacity_detection }).where('id', '=', id).execute();
      const gpu = { host_id: id, gpu_index: 0, vendor: 'software', model: 'CPU', vram_mb_total: 0 };
      const counts = { slots_total: 4, slots_used: 1, slots_guard: 4, reported, created_at: 0 };
      await db
        .insertInto('gpus')
        .values({ id: name, ...gpu, ...counts })
        .execute();
    };
    await add('gpu-01', 'online', 'ok', 1);
    await add('gpu-02', 'online', 'ok', 1);
    await add('unreported', 'online', 'ok', 0);
    await add('undetected', 'online', 'failed', 1);
    await add('draining', 'draining', 'ok', 1);
    await add('away', 'offline', 'ok', 1);
    series = await read();
    expect(series.get('footlight_encode_slots')).toBe(8);
    expect(series.get('footlight_encode_slots_used')).toBe(2);
  });

  test('shows the present sessions, hosts and sockets, with zeros where there are none', async () => {
    const { call, people } = await open();
    let series = await read();
    expect(series.get('footlight_sessions{state="running"}')).toBe(0);
    expect(series.get('footlight_hosts{status="online"}')).toBe(0);
    expect(series.get('footlight_sockets{of="agents"}')).toBe(0);
    const hostId = await addHost(app as TestApp, 'gpu-01');
    const made = await call(people.admin, 'POST', '/v1/apps', {
      body: { name: 'Terminal' },
    });
    const appId = made.body.app.id;
    for (const state of ['running', 'running', 'starting', 'stopped'] as const)
      await addSession(app as TestApp, { appId, userId: people.alice.id, hostId, state });
    series = await read();
    expect(series.get('footlight_sessions{state="running"}')).toBe(2);
    expect(series.get('footlight_sessions{state="starting"}')).toBe(1);
    expect(series.get('footlight_sessions{state="stopped"}')).toBeUndefined();
    const hosts = ['online', 'draining', 'offline'].map((status) =>
      series.get(`footlight_hosts{status="${status}"}`),
    );
    expect(hosts.reduce((sum, one) => (sum ?? 0) + (one ?? 0), 0)).toBe(1);
    expect(series.get('footlight_database_statement_seconds_count')).toBeGreaterThan(10);
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
    const openFiles = readdirSync('/proc/self/fd').length;
    // The test's own connections come and go in between.
    expect(Math.abs((series.get('process_open_fds') ?? 0) - openFiles)).toBeLessThan(10);
    expect(series.has('nodejs_eventloop_lag_p99_seconds')).toBe(true);
  });

  test('shows the only control plane as connected', async () => {
    await open();
    expect((await read()).get('footlight_bus_connected')).toBe(1);
  });

  // Replicas need Postgres.
  test.skipIf(dialect === 'sqlite')('says which requests went to another replica', async () => {
    const { planes } = await open(2);
    const [near, far] = planes.map(({ platform }) => platform.bus) as [Bus, Bus];
    const asked = { name: 'test.asked', payload: z.object({}), reply: z.object({}) };
    near.respond(asked, 'near', async () => ({}));
    far.respond(asked, 'far', async () => ({}));
    await passed(far, near);
    for (const key of ['near', 'far', 'far', 'none']) await near.request(asked, key, {}, 5_000);
    const series = await read();
    const count = (responder: string, answer: string) =>
      series.get(
        `footlight_bus_request_seconds_count{subject="test.asked",responder="${responder}",answer="${answer}"}`,
      );
    expect(count('local', 'reply')).toBe(1);
    expect(count('remote', 'reply')).toBe(2);
    expect(count('remote', 'no_responder')).toBe(1);
  });

  test.skipIf(dialect === 'sqlite')('shows that a replica has lost NATS, and has it again', async () => {
    const { replicas } = await open(2);
    const way = replicas?.each[0]?.way as TcpRelay;
    const connected = async () => (await read()).get('footlight_bus_connected');
    expect(await connected()).toBe(1);
    way.mode = 'refuse';
    way.cut();
    await expect.poll(connected).toBe(0);
    way.mode = 'pass';
    await expect.poll(connected).toBe(1);
  });
});
