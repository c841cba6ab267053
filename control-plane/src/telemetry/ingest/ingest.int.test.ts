import type { SessionMetrics } from '@footlight/protocol/agent';
import type { FakeAgent } from '@footlight/test-harness';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld, slots } from '../../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess, type Person, UNKNOWN_ID } from '../../testing/index.ts';

describeDatabases('reports of viewers and hosts', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;
  let people = 0;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta', slots(64));
    appId = await world.app();
  });
  afterAll(() => world.close());

  const runs = (as: Person = world.people.alice) => world.runsOn(agent, as, appId);
  /** A launched session of a new person. */
  const running = async () => {
    people += 1;
    return (await world.running(await world.addPerson(`person-${people}`), appId)).id;
  };
  const post = (
    id: string,
    what: 'stats' | 'trace/events' | 'trace/clock',
    body: unknown,
    as = world.people.alice,
  ) => world.call(as, 'POST', `/v1/sessions/${id}/${what}`, { body });
  const now = () => world.clock.nowMs();
  const sample = (metrics: object = { fps: 60 }, more: object = {}) => ({
    ts_unix_ms: now(),
    metrics,
    ...more,
  });
  const written = () => Promise.all(world.planes.map(({ platform }) => platform.periodicWriter.flush()));
  const database = () => world.plane.platform.database;
  const samplesOf = async (id: string) => {
    await written();
    return database()
      .db.selectFrom('session_samples')
      .selectAll()
      .where('session_id', '=', id)
      .orderBy('ts_unix_ms')
      .execute();
  };
  const eventsOf = async (id: string) => {
    await written();
    return database()
      .db.selectFrom('session_trace_events')
      .selectAll()
      .where('session_id', '=', id)
      .orderBy('seq')
      .execute();
  };
  const rejectedOf = async (id: string) => {
    await written();
    return database()
      .db.selectFrom('session_rejected_times')
      .selectAll()
      .where('session_id', '=', id)
      .orderBy('cause')
      .execute();
  };

  describe('samples of a viewer', () => {
    test('are stored by listed key, with the kind of the viewer', async () => {
      const id = await runs();
      const metrics = { fps: 60, is_hidden: false, user_agent: 'x', rtt_ms: '12', deep: { a: [1] } };
      expect(await post(id, 'stats', { samples: [sample(metrics, { path: 'pigeon' })] })).toMatchObject({
        status: 202,
        text: '',
      });
      const native = {
        client: 'native',
        samples: [sample({ decode_ms: 2.5 }, { path: 'turn_tls' })],
        more: 1,
      };
      expect((await post(id, 'stats', native)).status).toBe(202);
      expect(await samplesOf(id)).toEqual([
        {
          session_id: id,
          source: 'browser',
          ts_unix_ms: now(),
          host_id: agent.hostId,
          metrics: '{"fps":60,"is_hidden":false}',
          received_at: now(),
        },
        expect.objectContaining({ source: 'native', metrics: '{"decode_ms":2.5,"path":"turn_tls"}' }),
      ]);
    });

    test('show the newest in the list of administrators', async () => {
      const id = await running();
      const older = { ...sample({ fps: 30 }), ts_unix_ms: now() - 1_000 };
      await post(id, 'stats', { samples: [sample({ fps: 59, is_hidden: true }), older] }, world.people.admin);
      const listed = (await world.list()).find((each) => each.id === id);
      expect(listed?.latest_metrics.browser).toEqual({
        source: 'browser',
        ts_unix_ms: now(),
        metrics: { fps: 59, is_hidden: 1 },
      });
    });

    test('that come twice are stored once', async () => {
      const id = await runs();
      const body = { samples: [sample()] };
      for (let n = 0; n < 3; n += 1) await post(id, 'stats', body);
      expect(await samplesOf(id)).toHaveLength(1);
      await post(id, 'stats', body);
      expect(await samplesOf(id)).toHaveLength(1);
    });

    test('are taken after the end, and change the record no more', async () => {
      const id = await runs();
      await database()
        .db.updateTable('sessions')
        .set({ state: 'stopped', ended_at: now() })
        .where('id', '=', id)
        .execute();
      const body = { samples: [sample({ fps: 1 }, { codec_mime_type: 'video/H264' })] };
      expect((await post(id, 'stats', body)).status).toBe(202);
      expect(await samplesOf(id)).toHaveLength(1);
      expect((await world.session(id)).negotiated_codec).toBeNull();
    });
  });

  test('the newest usable codec becomes the negotiated one, and is written on change', async () => {
    const id = await runs();
    const codec = async (...mimeTypes: (string | undefined)[]) => {
      await world.clock.pass(2_000);
      const samples = mimeTypes.map((codec_mime_type, n) => ({
        ...sample({ fps: 1 }, codec_mime_type === undefined ? {} : { codec_mime_type }),
        ts_unix_ms: now() + n,
      }));
      await post(id, 'stats', { samples });
      return (await world.session(id)).negotiated_codec;
    };
    const updatedAt = async () =>
      (
        await database()
          .db.selectFrom('sessions')
          .select('updated_at')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
      ).updated_at;
    expect(await codec(undefined)).toBeNull();
    expect(await codec('video/H264', 'video/hvc1', 'no name at all', undefined)).toBe('h265');
    const changed = await updatedAt();
    expect(await codec('hevc')).toBe('h265');
    expect(await updatedAt()).toBe(changed);
    expect(await codec('video/AV01')).toBe('av1');
    expect(await updatedAt()).toBeGreaterThan(changed);
  });

  test('times of another day are dropped and counted by their cause; the codec of such a sample does not count', async () => {
    const id = await runs();
    const seconds = Math.floor(now() / 1_000);
    const times = [0, seconds, seconds - 1, now() * 1_000, now() * 1_000_000, 83_542, now() + 90_000_000];
    const samples = times.map((ts_unix_ms) => ({
      ts_unix_ms,
      metrics: { fps: 1 },
      codec_mime_type: 'video/AV1',
    }));
    expect((await post(id, 'stats', { samples })).status).toBe(202);
    const events = [{ ts_unix_ms: -5, type: 'client.first_frame', payload: {} }];
    expect((await post(id, 'trace/events', { events })).status).toBe(202);
    expect(await samplesOf(id)).toEqual([]);
    expect(await eventsOf(id)).toEqual([]);
    const counted = await rejectedOf(id);
    expect(counted.map(({ cause, count, last_ts }) => [cause, count, last_ts])).toEqual([
      ['microseconds', 1, now() * 1_000],
      ['nanoseconds', 1, now() * 1_000_000],
      ['out_of_range', 1, now() + 90_000_000],
      ['performance_now', 1, 83_542],
      ['seconds', 2, seconds - 1],
      ['zero_or_negative', 2, -5],
    ]);
    await post(id, 'stats', { samples: samples.slice(1, 2) });
    expect((await rejectedOf(id)).find(({ cause }) => cause === 'seconds')?.count).toBe(3);
    expect((await world.session(id)).negotiated_codec).toBeNull();
  });

  test('events of a viewer are stored as from a browser; types of no viewer are dropped', async () => {
    const id = await runs();
    const event = (type: string, payload: object = {}) => ({ ts_unix_ms: now(), type, payload });
    const events = [
      event('client.first_frame', { since_launch_ms: 812, text: 'nul \0 and \ud800' }),
      event('encoder.stall'),
      event('operator.annotation', { label: 'x' }),
      event('playout.changed', { from_ms: 50, to_ms: 80 }),
    ];
    expect((await post(id, 'trace/events', { client: 'native', events })).status).toBe(202);
    const rows = await eventsOf(id);
    expect(rows.map(({ type, source, host_id }) => [type, source, host_id])).toEqual([
      ['client.first_frame', 'browser', agent.hostId],
      ['playout.changed', 'browser', agent.hostId],
    ]);
    expect(JSON.parse(rows[0]?.payload ?? '')).toEqual({ since_launch_ms: 812, text: 'nul \0 and \ud800' });
  });

  test('the last clock of a session wins', async () => {
    const id = await runs();
    for (const client_offset_ms of [12.5, -3.25]) {
      await world.clock.pass(1_000);
      expect((await post(id, 'trace/clock', { client_offset_ms, uncertainty_ms: 0 })).status).toBe(202);
      await written();
    }
    const clocks = await database()
      .db.selectFrom('session_clocks')
      .selectAll()
      .where('session_id', '=', id)
      .execute();
    expect(clocks).toEqual([
      { session_id: id, client_offset_ms: -3.25, uncertainty_ms: 0, measured_at: now() },
    ]);
  });

  const tooMany = Array.from({ length: 65 }, () => ({ ts_unix_ms: 0, metrics: {}, type: 'x', payload: {} }));
  const deep = `{"ts_unix_ms":0,"type":"x","payload":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`;
  test.each<[string, 'stats' | 'trace/events' | 'trace/clock', unknown]>([
    ['no samples', 'stats', {}],
    ['65 samples', 'stats', { samples: tooMany }],
    ['another client', 'stats', { client: 'tv', samples: [] }],
    ['a time that is no number', 'stats', { samples: [{ ts_unix_ms: '0', metrics: {} }] }],
    ['a time with a fraction', 'stats', { samples: [{ ts_unix_ms: 0.5, metrics: {} }] }],
    ['a time too large for a double', 'stats', '{"samples":[{"ts_unix_ms":1e400,"metrics":{}}]}'],
    ['no metrics', 'stats', { samples: [{ ts_unix_ms: 0 }] }],
    ['a list of metrics', 'stats', { samples: [{ ts_unix_ms: 0, metrics: [] }] }],
    ['over 32 KiB', 'stats', { samples: [], x: 'x'.repeat(32 * 1024) }],
    ['no events', 'trace/events', {}],
    ['65 events', 'trace/events', { events: tooMany }],
    ['no payload', 'trace/events', { events: [{ ts_unix_ms: 0, type: 'x' }] }],
    ['a payload that nests too deep', 'trace/events', `{"events":[${deep}]}`],
    ['over 32 KiB of events', 'trace/events', { events: [], x: 'x'.repeat(32 * 1024) }],
    ['no uncertainty', 'trace/clock', { client_offset_ms: 0 }],
    ['no offset', 'trace/clock', { uncertainty_ms: 0 }],
    ['a negative uncertainty', 'trace/clock', { client_offset_ms: 0, uncertainty_ms: -1 }],
    ['an offset that is not finite', 'trace/clock', '{"client_offset_ms":1e400,"uncertainty_ms":1}'],
    ['over 4 KiB of clock', 'trace/clock', { client_offset_ms: 0, uncertainty_ms: 0, x: 'x'.repeat(4_096) }],
  ])('%s: 400 for everybody, before the session is looked for', async (_, what, body) => {
    for (const [id, as] of [
      [await runs(), world.people.alice],
      [UNKNOWN_ID, world.people.bob],
      [UNKNOWN_ID, world.people.admin],
    ] as const) {
      const answer = await post(id, what, body, as);
      expect([answer.status, answer.body?.error?.code]).toEqual([400, 'validation_failed']);
    }
  });

  ofOneProcess(
    '11 posts at once: the last is 429; each endpoint and session has its own, and strangers use up none',
    async () => {
      const [id, other] = [await runs(), await runs()];
      const { alice, bob, admin } = world.people;
      const stats = (of = id, as = alice) => post(of, 'stats', { samples: [] }, as);
      for (let n = 0; n < 20; n += 1) {
        expect((await stats(id, bob)).body.error.code).toBe('forbidden');
        expect((await post(id, 'stats', '{')).status).toBe(400);
      }
      for (let n = 0; n < 10; n += 1) expect((await stats()).status).toBe(202);
      for (const as of [alice, admin]) {
        const answer = await stats(id, as);
        expect([answer.status, answer.body.error.code]).toEqual([429, 'rate_limited']);
        expect(answer.headers['retry-after']).toBe('2');
      }
      expect((await stats(other)).status).toBe(202);
      expect((await post(id, 'trace/events', { events: [] })).status).toBe(202);
      expect((await post(id, 'trace/clock', { client_offset_ms: 0, uncertainty_ms: 0 })).status).toBe(202);
      await world.clock.pass(2_000);
      expect((await stats()).status).toBe(202);
      expect((await stats()).status).toBe(429);
    },
  );

  test('202 although nothing can be stored, and the next reports are', async () => {
    const id = await runs();
    await sql`alter table session_samples rename to session_samples_gone`.execute(database().db);
    expect((await post(id, 'stats', { samples: [sample()] })).status).toBe(202);
    await written();
    expect(world.log.some((line) => line.includes('telemetry.not_written'))).toBe(true);
    await sql`alter table session_samples_gone rename to session_samples`.execute(database().db);
    await world.clock.pass(1_000);
    expect((await post(id, 'stats', { samples: [sample()] })).status).toBe(202);
    expect(await samplesOf(id)).toHaveLength(1);
  });

  describe('of a host', () => {
    const send = async (id: string, more: Partial<SessionMetrics> = {}, from = agent) => {
      from.send({
        type: 'session_metrics',
        session_id: id,
        ts: now(),
        window_ms: 5_000,
        metrics: { fps: 60, abr_mode: 'smooth', live_write_stable: true },
        ...more,
      });
      await from.heard();
    };

    test('samples of its running and stopping sessions are stored as they came, those of an outage too', async () => {
      const id = await running();
      await send(id);
      await send(id, { ts: now() - 5_000, late: true });
      agent.behaviour.answer = () => 'silence';
      await world.call(world.people.admin, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopping');
      await send(id, { ts: now() + 5_000 });
      expect(
        (await samplesOf(id)).map(({ source, ts_unix_ms, metrics }) => [source, ts_unix_ms, metrics]),
      ).toEqual(
        [-5_000, 0, 5_000].map((later) => [
          'agent',
          now() + later,
          '{"fps":60,"abr_mode":"smooth","live_write_stable":true}',
        ]),
      );
      agent.behaviour.answer = () => 'ok';
    });

    test("samples of ended, unknown and other hosts' sessions are not", async () => {
      const other = await world.host('hostb', slots(1));
      const id = await running();
      await send(id, {}, other);
      await send(UNKNOWN_ID);
      await world.call(world.people.admin, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
      // The end is stored, then the process handles it, then it is confirmed.
      await eventually('the end is confirmed', () => (agent.unseen === 0 ? true : undefined));
      await send(id);
      expect(await samplesOf(id)).toEqual([]);
      expect(await samplesOf(UNKNOWN_ID)).toEqual([]);
    });

    test('300 samples at once: 32 are stored, and none over 4 KiB', async () => {
      const id = await running();
      for (let n = 0; n < 300; n += 1) await send(id, { ts: now() + n });
      expect(await samplesOf(id)).toHaveLength(32);
      const metrics = Object.fromEntries(
        Array.from({ length: 96 }, (_, n) => [`probe_${n}`, 'x'.repeat(64)]),
      );
      await world.clock.pass(1_000);
      await send(id, { metrics });
      expect(await samplesOf(id)).toHaveLength(32);
    });

    test('lossy events of its sessions are stored, of any type, at any time; those of others are not', async () => {
      const other = await world.host('hostc', slots(1));
      const [known, unknown] = [await running(), await runs()];
      const event = (session_id: string, from = agent) =>
        from.report({
          type: 'session_trace_event',
          session_id,
          ts: 5,
          event: 'app.newer' as never,
          payload: { n: 1 },
        });
      const ofOther = await world.runsOn(other, world.people.alice, appId);
      // Each host sends the event of its own session last. When it is stored, the host's other events have been read.
      for (const id of [known, unknown, ofOther]) event(id, other);
      for (const id of [ofOther, known, unknown]) event(id);
      for (const id of [ofOther, unknown])
        await eventually(
          'the events are stored',
          async () => (await eventsOf(id)).some(({ type }) => type === 'app.newer') || undefined,
        );
      for (const id of [known, unknown])
        expect((await eventsOf(id)).filter(({ type }) => type === 'app.newer')).toMatchObject([
          { source: 'agent', host_id: agent.hostId, ts_unix_ms: 5, payload: '{"n":1}' },
        ]);
    });
  });
});
