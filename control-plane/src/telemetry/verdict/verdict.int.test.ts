import type { SessionVerdict } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld, slots } from '../../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess, type Person, UNKNOWN_ID } from '../../testing/index.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describeDatabases('the verdict of a session', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;
  let owner: Person;
  let people = 0;
  /** A session at 60 fps that has just started; the tests read the verdict on its first two minutes. */
  let id: string;
  let startMs: number;

  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta', slots(64));
    appId = await world.app();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    people += 1;
    owner = await world.addPerson(`person-${people}`);
    const session = await world.running(owner, appId);
    expect(session.stream.fps).toBe(60);
    id = session.id;
    startMs = world.clock.nowMs();
  });

  const ask = (query: string, as: Person | null = owner, route = '/v1/sessions') =>
    world.call(as, 'GET', `${route}/${id}/verdict${query}`);
  const firstMinutes = () => `?from=${startMs}&to=${startMs + 2 * MINUTE_MS}`;
  const judged = async (query = firstMinutes()): Promise<SessionVerdict> => {
    const answer = await ask(query, world.people.admin, '/v1/admin/sessions');
    expect(answer.status, answer.text).toBe(200);
    return answer.body;
  };
  const post = async (what: string, body: unknown) =>
    expect((await world.call(owner, 'POST', `/v1/sessions/${id}/${what}`, { body })).status).toBe(202);

  /** Thirty samples of a viewer, one per second after the warm-up. */
  const viewer = (metrics: (n: number) => object, aheadMs = 0) =>
    post('stats', {
      samples: Array.from({ length: 30 }, (_, n) => ({
        ts_unix_ms: startMs + 30_000 + n * 1_000 + aheadMs,
        metrics: { rtt_ms: 20, packets_lost: 0, present_interval_sd_ms: 2, is_hidden: false, ...metrics(n) },
      })),
    });
  /** Ten samples of the host, one every five seconds after the warm-up. */
  const host = async (metrics: Record<string, number>) => {
    for (let n = 0; n < 10; n += 1)
      agent.send({
        type: 'session_metrics',
        session_id: id,
        ts: startMs + 30_000 + n * 5_000,
        window_ms: 5_000,
        metrics: { fps: 60, encode_ms_p95: 4, ...metrics },
      });
    await agent.heard();
  };

  test.each<[verdict: string, ofHost: Record<string, number>, ofViewer: (n: number) => object]>([
    ['nominal', {}, () => ({})],
    ['likely_network_congestion', {}, (n) => ({ rtt_ms: 51, packets_lost: n })],
    ['likely_encoder_saturation', { fps: 49, encode_ms_p95: 16 }, () => ({})],
    ['likely_client_presentation_limit', {}, (n) => ({ present_interval_sd_ms: n < 2 ? 18 : 2 })],
    ['indeterminate_client_hidden', {}, (n) => ({ is_hidden: n === 7 })],
  ])('%s', async (verdict, ofHost, ofViewer) => {
    await host(ofHost);
    await viewer(ofViewer);
    const answer = await judged();
    expect(answer).toMatchObject({
      verdict,
      evidence_tier: 'host_only',
      window: {
        from_ms: startMs,
        to_ms: startMs + 2 * MINUTE_MS,
        n_host: 10,
        n_client: 30,
        warmup_excluded_ms: 20_000,
      },
      clock: { quality: 'unmeasured', applied: false },
      thresholds_version: '1',
    });
  });

  test('unknown, of a session of which nothing was stored', async () => {
    expect(await judged()).toMatchObject({
      verdict: 'unknown',
      evidence_tier: 'insufficient',
      falsifiers: [],
    });
  });

  test('is the same on both routes, byte for byte', async () => {
    await host({});
    await viewer((n) => ({ rtt_ms: 51.25, packets_lost: n, fps: 60, present_n: 59 }));
    await post('trace/clock', { client_offset_ms: 0.5, uncertainty_ms: 1.25 });
    const own = await ask(firstMinutes());
    const admins = await ask(firstMinutes(), world.people.admin, '/v1/admin/sessions');
    expect(own.status).toBe(200);
    expect(own.text).toBe(admins.text);
    expect((await ask(firstMinutes())).text).toBe(own.text);
    expect(own.body.clock).toEqual({
      quality: 'measured',
      offset_ms: 0.5,
      uncertainty_ms: 1.25,
      applied: true,
      age_ms: 2 * MINUTE_MS,
    });
    expect(own.body.evidence_tier).toBe('full');
    expect(own.body.report).toMatchObject({ played_ms: 2 * MINUTE_MS, seconds: 30, smooth_fraction: 1 });
  });

  test('has a report for the owner of the whole time played, once the viewer received a picture', async () => {
    await host({});
    await viewer(() => ({}));
    expect(await judged()).not.toHaveProperty('report');
    // These samples have other times than the first ones, because a repeated time would be ignored.
    await viewer((n) => ({ fps: 60, present_n: 59, ...(n < 3 && { click_to_photon_ms: 50 + n }) }), 500);
    const { db } = world.plane.platform.database;
    const endedAt = startMs + HOUR_MS;
    await db.updateTable('sessions').set({ ended_at: endedAt }).where('id', '=', id).execute();
    expect((await judged()).report).toEqual({
      played_ms: HOUR_MS,
      seconds: 30,
      smooth_fraction: 1,
      clicks: 3,
      click_to_photon_ms: 51,
      limit: 'The picture was smooth.',
      remedy: null,
    });
  });

  describe('with a viewer whose clock is an hour fast', () => {
    beforeEach(() => viewer(() => ({}), HOUR_MS));

    test('its samples are outside the window until the clocks were compared', async () => {
      expect((await judged()).window.n_client).toBe(0);
      await post('trace/clock', { client_offset_ms: 0.4 - HOUR_MS, uncertainty_ms: 3 });
      expect(await judged()).toMatchObject({
        evidence_tier: 'client_only',
        window: { n_client: 30 },
        clock: { quality: 'measured', offset_ms: 0.4 - HOUR_MS },
      });
    });

    test('its events move as well', async () => {
      const hides = (ts_unix_ms: number) => ({
        ts_unix_ms,
        type: 'client.visibility_changed',
        payload: { hidden: true },
      });
      await post('trace/clock', { client_offset_ms: -HOUR_MS, uncertainty_ms: 3 });
      await post('trace/events', { events: [hides(startMs + HOUR_MS - 1), hides(startMs + 40_000)] });
      expect((await judged()).verdict).toBe('nominal');
      await post('trace/events', { events: [hides(startMs + HOUR_MS)] });
      expect(await judged()).toMatchObject({
        verdict: 'indeterminate_client_hidden',
        evidence: ['client.visibility_changed'],
      });
    });

    test.each([1e300, -1e300])('an offset of %d moves them out of every window', async (client_offset_ms) => {
      await post('trace/clock', { client_offset_ms, uncertainty_ms: 0 });
      expect(await judged()).toMatchObject({ verdict: 'unknown', window: { n_client: 0 } });
    });
  });

  describe('faults that the host reports', () => {
    const report = async (event: 'host.xid' | 'encoder.stall' | 'sdp.answer_applied', payload: object) => {
      agent.report({
        type: 'session_trace_event',
        session_id: id,
        ts: startMs + 40_000,
        event,
        payload: payload as Record<string, unknown>,
      });
      await eventually('the event is confirmed', () => (agent.unseen === 0 ? true : undefined));
    };

    test('are in the reason', async () => {
      await host({});
      await report('host.xid', { code: 79, text: 'fell off the bus' });
      await report('encoder.stall', { phase: 'recovered' });
      expect(await judged()).toMatchObject({
        verdict: 'nominal',
        reason: 'No rule found a limit in this time; the GPU driver reported an Xid error.',
        evidence: expect.arrayContaining(['host.xid']),
      });
    });

    test('are not read with more than 4 KiB', async () => {
      const rejected = (length: number) =>
        report('sdp.answer_applied', { rejected_count: 1, text: 'x'.repeat(length) });
      await rejected(4 * 1024);
      expect((await judged()).reason).not.toContain('rejected');
      await rejected(4_000);
      expect((await judged()).reason).toMatch(/; the viewer rejected a part of the offer\.$/);
    });
  });

  describe('is about a window', () => {
    const windowOf = async (query: string) => {
      const { from_ms, to_ms } = (await judged(query)).window;
      return [from_ms, to_ms];
    };
    const at = (ms: number) => new Date(ms).toISOString();

    test('in either form of time; what is neither counts as missing', async () => {
      const [from, to] = [startMs - 3 * MINUTE_MS, startMs - MINUTE_MS];
      const now = world.clock.nowMs();
      for (const query of [`?from=${from}&to=${to}`, `?from=${at(from)}&to=${at(to)}`])
        expect(await windowOf(query)).toEqual([from, to]);
      expect(await windowOf(`?from=${at(to)}&to=${from}`)).toEqual([from - 5 * MINUTE_MS, from]);
      expect(await windowOf(`?from=${startMs - HOUR_MS}`)).toEqual([now - 10 * MINUTE_MS, now]);
      expect(await windowOf(`?from=${startMs}&to=${startMs + 1}`)).toEqual([
        startMs + 1 - 2 * MINUTE_MS,
        startMs + 1,
      ]);
      for (const query of [
        '',
        '?from=&to=',
        '?from=-1&to=yesterday',
        '?to=1.5',
        '?to=1e12',
        '?from=1&from=2',
      ])
        expect(await windowOf(query)).toEqual([now - 5 * MINUTE_MS, now]);
      for (const last of ['999999999999999', '9999-12-31T23:59:59Z'])
        expect((await judged(`?to=${last}`)).verdict).toBe('unknown');
      expect((await judged('?to=0000-01-01T00:00:00Z')).verdict).toBe('unknown');
    });

    test('that ends with the session', async () => {
      await host({});
      await viewer(() => ({}));
      await world.call(owner, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
      const { db } = world.plane.platform.database;
      const endedAt = startMs + 90_000;
      await db.updateTable('sessions').set({ ended_at: endedAt }).where('id', '=', id).execute();
      const answer = await judged('');
      expect(answer.window).toMatchObject({ from_ms: endedAt - 5 * MINUTE_MS, to_ms: endedAt, n_host: 10 });
    });

    test('of which the newest 1,000 samples of a source are read', async () => {
      const { db } = world.plane.platform.database;
      const rows = Array.from({ length: 1_100 }, (_, n) => ({
        session_id: id,
        source: 'browser' as const,
        ts_unix_ms: startMs + n * 100,
        host_id: agent.hostId as string,
        metrics: JSON.stringify({ packets_lost: Math.min(n, 100), rtt_ms: 90 }),
        received_at: startMs,
      }));
      await db.insertInto('session_samples').values(rows.slice(0, 600)).execute();
      await db.insertInto('session_samples').values(rows.slice(600)).execute();
      expect(await judged()).toMatchObject({ verdict: 'nominal', window: { n_client: 1_000 } });
    });
  });

  test('is for the owner and administrators', async () => {
    const { admin, bob } = world.people;
    expect((await ask('', admin)).status).toBe(200);
    const foreign = await ask('', bob);
    const unknown = await world.call(bob, 'GET', `/v1/sessions/${UNKNOWN_ID}/verdict`);
    expect([foreign.status, foreign.body.error.code]).toEqual([403, 'forbidden']);
    expect([unknown.status, unknown.text]).toEqual([foreign.status, foreign.text]);
    expect((await ask('', null)).status).toBe(401);
    expect((await ask('', owner, '/v1/admin/sessions')).status).toBe(403);
    for (const route of ['/v1/sessions', '/v1/admin/sessions']) {
      const answer = await world.call(admin, 'GET', `${route}/${UNKNOWN_ID}/verdict`);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
    }
  });

  ofOneProcess(
    '11 at once: the last is 429. Strangers, posts and the route of administrators use up none',
    async () => {
      const { admin, bob } = world.people;
      for (let n = 0; n < 12; n += 1) {
        expect((await ask('', bob)).status).toBe(403);
        expect((await ask('', admin, '/v1/admin/sessions')).status).toBe(200);
      }
      for (let n = 0; n < 10; n += 1) await post('stats', { samples: [] });
      for (let n = 0; n < 10; n += 1) expect((await ask('')).status).toBe(200);
      for (const as of [owner, admin]) {
        const answer = await ask('', as);
        expect([answer.status, answer.body.error.code]).toEqual([429, 'rate_limited']);
        expect(answer.headers['retry-after']).toBe('2');
      }
      await post('trace/events', { events: [] });
      await world.clock.pass(2_000);
      expect((await ask('')).status).toBe(200);
      expect((await ask('')).status).toBe(429);
    },
  );
});
