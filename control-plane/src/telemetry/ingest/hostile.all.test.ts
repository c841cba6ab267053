import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld, slots } from '../../sessions/testing/world.ts';
import { dumpDatabase } from '../../testing/database-dump.ts';
import { describeDatabases } from '../../testing/index.ts';

/** Tables that may change: the counter itself, the hosts (last heartbeat), and the runs of jobs. */
const COUNTER = /^(session_rejected_times|hosts|job_runs) /;
const DAY_MS = 24 * 60 * 60 * 1_000;

describeDatabases('hostile telemetry changes nothing but a counter', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let id: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta', slots(4));
    id = (await world.running(world.people.alice, await world.app())).id;
  });
  afterAll(() => world.close());

  /** All rows except the counter, and the counter. */
  const state = async () => {
    await world.plane.platform.periodicWriter.flush();
    const lines = (await dumpDatabase(world.plane.platform.database)).split('\n');
    const { db } = world.plane.platform.database;
    const counted = await db.selectFrom('session_rejected_times').select(['cause', 'count']).execute();
    return {
      rows: lines.filter((line) => !COUNTER.test(line)),
      counted: counted.reduce((sum, { count }) => sum + count, 0),
    };
  };
  const post = (what: string, body: unknown) =>
    world.call(world.people.alice, 'POST', `/v1/sessions/${id}/${what}`, { body });
  const now = () => world.clock.nowMs();
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const stats = (item: string) => `{"samples":[${item}]}`;
  const sample = (metrics: string) => stats(`{"ts_unix_ms":${now()},"metrics":${metrics}}`);

  // These tests run first, because the link ends once the clock has passed 20 s without a heartbeat.
  test.each<[what: string, session: () => string, metrics: string]>([
    ['more than 4 KiB', () => id, `{"text":"${'x'.repeat(4_096)}"}`],
    ['figures that nest 70 deep', () => id, `{"fps":${deep(70)}}`],
    ['no object', () => id, '[1]'],
    ['NaN', () => id, '{"fps":NaN}'],
    ['an unknown session', () => '00000000-0000-4000-8000-000000000000', '{"fps":60}'],
  ])('a host that sends %s', async (_what, session, metrics) => {
    const before = await state();
    agent.sendRaw(
      `{"type":"session_metrics","session_id":"${session()}","ts":${now()},"window_ms":5000,"metrics":${metrics}}`,
    );
    await agent.heard();
    expect(await state()).toEqual(before);
    expect(agent.isOpen).toBe(true);
  });

  test.each<[what: string, path: string, body: () => unknown, status: number]>([
    ['numbers too large for a double', 'stats', () => sample('{"fps":1e400,"rtt_ms":-1e400}'), 202],
    ['numbers that are no measurement', 'stats', () => sample('{"fps":1e300,"packets_lost":-1e16}'), 202],
    ['NaN', 'stats', () => sample('{"fps":NaN}'), 400],
    ['texts and lists in place of figures', 'stats', () => sample('{"fps":"60","rtt_ms":[1]}'), 202],
    ['figures that nest 5,000 deep', 'stats', () => sample(`{"fps":${deep(5_000)}}`), 202],
    ['figures of the prototype', 'stats', () => sample('{"__proto__":{"fps":1},"constructor":2}'), 202],
    [
      'a health of 30,000 characters',
      'stats',
      () => stats(`{"ts_unix_ms":${now()},"metrics":{},"client_health":"${'x'.repeat(30_000)}"}`),
      202,
    ],
    [
      'a codec that is none',
      'stats',
      () => stats(`{"ts_unix_ms":${now()},"metrics":{},"codec_mime_type":"video/<script>"}`),
      202,
    ],
    [
      'events of types that no viewer has',
      'trace/events',
      () => ({ events: [{ ts_unix_ms: now(), type: 'operator.annotation', payload: { label: 'x' } }] }),
      202,
    ],
    [
      'events whose payload nests too deep',
      'trace/events',
      () => `{"events":[{"ts_unix_ms":${now()},"type":"bench.window","payload":${deep(70)}}]}`,
      400,
    ],
    ['an offset that is no number', 'trace/clock', () => '{"client_offset_ms":NaN,"uncertainty_ms":1}', 400],
    ['an uncertainty without end', 'trace/clock', () => '{"client_offset_ms":0,"uncertainty_ms":1e400}', 400],
  ])('%s', async (_what, path, body, status) => {
    const before = await state();
    expect((await post(path, body())).status).toBe(status);
    expect(await state()).toEqual(before);
    await world.clock.pass(2_000);
  });

  test('wrong clocks are counted, item by item', async () => {
    const times = [
      ...[0, -1, 1, 5_000],
      ...[Math.round(now() / 1_000), now() * 1_000, now() * 1e6],
      ...[now() + DAY_MS + 1, now() - DAY_MS - 1, 1e15, 1e300],
    ];
    const before = await state();
    const samples = times.map((ts_unix_ms) => ({
      ts_unix_ms,
      metrics: { fps: 60 },
      codec_mime_type: 'video/H265',
    }));
    const events = times.map((ts_unix_ms) => ({ ts_unix_ms, type: 'client.freeze_detected', payload: {} }));
    expect((await post('stats', { samples })).status).toBe(202);
    expect((await post('trace/events', { events })).status).toBe(202);
    const after = await state();
    expect(after.rows).toEqual(before.rows);
    expect(after.counted).toBe(before.counted + 2 * times.length);
  });

  test('100 posts at once of a clock that is an hour off in seconds: ten are taken, and counted', async () => {
    await world.clock.pass(20_000);
    const before = await state();
    const samples = Array.from({ length: 64 }, (_, n) => ({ ts_unix_ms: n, metrics: { fps: 60 } }));
    const answers = await Promise.all(Array.from({ length: 100 }, () => post('stats', { samples })));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
    const after = await state();
    expect(after.rows).toEqual(before.rows);
    expect(after.counted).toBe(before.counted + 10 * 64);
  });
});
