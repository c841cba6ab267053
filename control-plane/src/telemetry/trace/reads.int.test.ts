import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  addSession,
  createTestApp,
  describeDatabases,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

describeDatabases('what administrators read of a session', (databases) => {
  let app: TestApp;
  let appId: string;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo' } });
    appId = made.body.app.id;
  });
  afterAll(() => app.close());

  const now = () => app.clock.nowMs();
  const db = () => app.plane.platform.database.db;
  const session = (more: { endedAtMs?: number } = {}) =>
    addSession(app, {
      appId,
      userId: app.people.alice.id,
      state: more.endedAtMs === undefined ? 'pending' : 'stopped',
      ...more,
    });
  const read = (id: string, path: string) =>
    app.call(app.people.admin, 'GET', `/v1/admin/sessions/${id}/${path}`);
  const post = (id: string, what: string, body: unknown) =>
    app.call(app.people.alice, 'POST', `/v1/sessions/${id}/${what}`, { body });
  const annotate = (id: string, body: unknown) =>
    app.call(app.people.admin, 'POST', `/v1/admin/sessions/${id}/trace/annotations`, { body });

  /** Stores samples; times are seconds before now. */
  async function addSamples(
    session_id: string,
    source: 'agent' | 'browser' | 'native',
    samples: readonly (readonly [secondsAgo: number, metrics: object])[],
  ): Promise<void> {
    const rows = samples.map(([secondsAgo, metrics]) => ({
      session_id,
      source,
      ts_unix_ms: now() - secondsAgo * SECOND_MS,
      host_id: '',
      metrics: JSON.stringify(metrics),
      received_at: now(),
    }));
    for (let from = 0; from < rows.length; from += 500)
      await db()
        .insertInto('session_samples')
        .values(rows.slice(from, from + 500))
        .execute();
  }

  async function addEvents(
    session_id: string,
    events: readonly (readonly [secondsAgo: number, type: string, payload?: object])[],
    source: 'agent' | 'browser' = 'agent',
  ): Promise<void> {
    const rows = events.map(([secondsAgo, type, payload = {}], seq) => ({
      host_id: '',
      boot_id: `${session_id} ${source}`,
      seq,
      session_id,
      source,
      ts_unix_ms: now() - secondsAgo * SECOND_MS,
      type,
      payload: JSON.stringify(payload),
      is_capture: 0 as const,
      received_at: now(),
    }));
    for (let from = 0; from < rows.length; from += 500)
      await db()
        .insertInto('session_trace_events')
        .values(rows.slice(from, from + 500))
        .execute();
  }

  const at = (secondsAgo: number) => now() - secondsAgo * SECOND_MS;

  describe('the trace', () => {
    test.each(['trace', 'trace/window'])(
      '%s: series of every source and events, oldest first',
      async (path) => {
        const id = await session();
        await addSamples(id, 'agent', [
          [10, { fps: 60, abr_mode: 'smooth', abr_setpoint_kbps: 8_000 }],
          [5, { fps: 59, live_write_stable: true }],
          [301, { fps: 1 }],
        ]);
        await addSamples(id, 'browser', [
          [9, { is_hidden: false, decode_display_ms: 3, rvfc_capture_time_available: true }],
          [8, { is_hidden: true, decode_display_ms: 4 }],
        ]);
        await addSamples(id, 'native', [[8.5, { is_hidden: false }]]);
        await addEvents(id, [
          [4, 'encoder.stall', { phase: 'detected' }],
          [6, 'app.newer'],
          [400, 'too.old'],
        ]);
        await addEvents(id, [[5, 'client.first_frame']], 'browser');
        const answer = await read(id, path);
        expect(answer.body).toEqual({
          session_id: id,
          window: { from_ms: at(300), to_ms: now() },
          clock: { unmeasured: true },
          series: {
            'encoder.fps': [
              { ts_unix_ms: at(10), v: 60 },
              { ts_unix_ms: at(5), v: 59 },
            ],
            'abr.setpoint_kbps': [{ ts_unix_ms: at(10), v: 8_000 }],
            'client.is_hidden': [
              { ts_unix_ms: at(9), v: 0 },
              { ts_unix_ms: at(8.5), v: 0 },
              { ts_unix_ms: at(8), v: 1 },
            ],
            'client.decode_display_ms': [{ ts_unix_ms: at(9), v: 3 }],
            'client.rvfc_capture_time_available': [{ ts_unix_ms: at(9), v: 1 }],
          },
          events: [
            { source: 'agent', ts_unix_ms: at(6), type: 'app.newer', payload: {} },
            { source: 'browser', ts_unix_ms: at(5), type: 'client.first_frame', payload: {} },
            { source: 'agent', ts_unix_ms: at(4), type: 'encoder.stall', payload: { phase: 'detected' } },
          ],
        });
      },
    );

    test('puts viewers on the clock of the host once it is measured, also in which items are in the window', async () => {
      const id = await session();
      await addSamples(id, 'agent', [[10, { fps: 60 }]]);
      // The viewer's clock is an hour slow.
      await addSamples(id, 'browser', [
        [3_610, { fps: 58 }],
        [10, { fps: 1 }],
      ]);
      await addEvents(id, [[3_606, 'client.first_frame']], 'browser');
      await addEvents(id, [[5, 'encoder.stall']]);
      await post(id, 'trace/clock', { client_offset_ms: HOUR_MS + 0.4, uncertainty_ms: 12 });
      const { body } = await read(id, 'trace');
      expect(body.clock).toEqual({
        client_offset_ms: HOUR_MS + 0.4,
        uncertainty_ms: 12,
        measured_at: new Date(now()).toISOString(),
      });
      expect(body.series).toEqual({
        'encoder.fps': [{ ts_unix_ms: at(10), v: 60 }],
        'client.fps': [{ ts_unix_ms: at(10), v: 58 }],
      });
      expect(body.events).toMatchObject([
        { source: 'browser', ts_unix_ms: at(6), type: 'client.first_frame' },
        { source: 'agent', ts_unix_ms: at(5), type: 'encoder.stall' },
      ]);
    });

    test.each([1e308, -1e308, Number.MAX_SAFE_INTEGER])(
      'is readable with an offset of %d ms',
      async (offset) => {
        const id = await session();
        await addSamples(id, 'agent', [[10, { fps: 60 }]]);
        await addSamples(id, 'browser', [[10, { fps: 58 }]]);
        await addEvents(id, [[5, 'client.first_frame']], 'browser');
        await post(id, 'trace/clock', { client_offset_ms: offset, uncertainty_ms: 0 });
        const { body, status } = await read(id, 'trace');
        expect([status, body.series, body.events]).toEqual([
          200,
          { 'encoder.fps': [{ ts_unix_ms: at(10), v: 60 }] },
          [],
        ]);
      },
    );

    test('of a session that has ended reaches to its end; both spellings of a time are read', async () => {
      const id = await session({ endedAtMs: at(3_600) });
      const windowOf = async (query: string) => (await read(id, `trace?${query}`)).body.window;
      expect(await windowOf('')).toEqual({ from_ms: at(3_900), to_ms: at(3_600) });
      const [from, to] = [at(4 * 60), at(0)];
      expect(await windowOf(`from=${from}&to=${to}`)).toEqual({ from_ms: from, to_ms: to });
      const spelled = [from, to].map((time) => encodeURIComponent(new Date(time).toISOString()));
      expect(await windowOf(`from=${spelled[0]}&to=${spelled[1]}`)).toEqual({ from_ms: from, to_ms: to });
      expect(await windowOf('from=yesterday&to=soon')).toEqual({ from_ms: at(3_900), to_ms: at(3_600) });
    });

    test('has the data of the present second', async () => {
      const id = await session();
      await post(id, 'stats', { samples: [{ ts_unix_ms: now(), metrics: { fps: 60 } }] });
      await post(id, 'trace/events', {
        events: [{ ts_unix_ms: now(), type: 'client.freeze_detected', payload: { gap_ms: 9 } }],
      });
      const { body } = await read(id, 'trace');
      expect(body.series).toEqual({ 'client.fps': [{ ts_unix_ms: now(), v: 60 }] });
      expect(body.events).toHaveLength(1);
    });

    test('has the newest 1,000 samples of each source and the newest 1,000 events', async () => {
      const id = await session();
      const everyHalfSecond = Array.from({ length: 1_100 }, (_, n) => [n / 2, { fps: n }] as const);
      await addSamples(id, 'agent', everyHalfSecond);
      await addSamples(id, 'browser', everyHalfSecond.slice(0, 10));
      await addEvents(
        id,
        everyHalfSecond.map(([ago]) => [ago, 'app.newer'] as const),
      );
      await addEvents(id, [[0.25, 'client.first_frame']], 'browser');
      const { body } = await read(id, `trace?from=${now() - 10 * MINUTE_MS}`);
      expect(body.series['encoder.fps']).toHaveLength(1_000);
      expect(body.series['encoder.fps'].at(-1)).toEqual({ ts_unix_ms: now(), v: 0 });
      expect(body.series['client.fps']).toHaveLength(10);
      expect(body.events).toHaveLength(1_000);
      expect(body.events[0].ts_unix_ms).toBe(at(499));
      expect(body.events.at(-2)).toMatchObject({ source: 'browser', ts_unix_ms: at(0.25) });
    });

    test('has the newest events whose payloads take 2 MiB', async () => {
      const id = await session();
      const text = 'x'.repeat(512 * 1024);
      await addEvents(
        id,
        Array.from({ length: 8 }, (_, n) => [n, 'diag.log_tail', { text }] as const),
      );
      const { body } = await read(id, 'trace');
      expect(body.events.map(({ ts_unix_ms }: { ts_unix_ms: number }) => ts_unix_ms)).toEqual([
        at(2),
        at(1),
        at(0),
      ]);
    });
  });

  test('series by name: unknown names are left out, known ones without points are empty, no names give none', async () => {
    const id = await session();
    await addSamples(id, 'agent', [[10, { fps: 60, rtp_fps: 60 }]]);
    const series = async (query: string) => (await read(id, `trace/metrics${query}`)).body;
    const window = { from_ms: at(300), to_ms: now() };
    expect(await series('?names=encoder.fps,client.fps,nothing,__proto__,constructor')).toEqual({
      window,
      series: { 'encoder.fps': [{ ts_unix_ms: at(10), v: 60 }], 'client.fps': [] },
    });
    for (const query of ['', '?names=', '?names=,', '?names=nothing'])
      expect(await series(query)).toEqual({ window, series: {} });
  });

  test('events by type; no types give all', async () => {
    const id = await session();
    await addEvents(id, [
      [3, 'encoder.stall'],
      [2, 'abr.retarget'],
      [1, 'host.xid'],
    ]);
    const types = async (query: string) =>
      (await read(id, `trace/events${query}`)).body.events.map(({ type }: { type: string }) => type);
    expect(await types('?types=host.xid,encoder.stall,nothing')).toEqual(['encoder.stall', 'host.xid']);
    expect(await types('')).toEqual(['encoder.stall', 'abr.retarget', 'host.xid']);
    expect(await types('?types=')).toHaveLength(3);
    expect(await types('?types=nothing')).toEqual([]);
  });

  describe('raw samples', () => {
    test('come in pages, newest first, of one source or all', async () => {
      const id = await session();
      await addSamples(id, 'agent', [
        [3, { fps: 3, abr_mode: 'off' }],
        [1, { fps: 1 }],
      ]);
      await addSamples(id, 'browser', [
        [3, { fps: 30 }],
        [2, { is_hidden: true }],
      ]);
      await addSamples(id, 'native', [[7_200, { fps: 5 }]]);
      const sample = (source: string, ago: number, metrics: object) => ({
        source,
        ts_unix_ms: at(ago),
        metrics,
      });
      const all = [
        sample('agent', 1, { fps: 1 }),
        sample('browser', 2, { is_hidden: true }),
        sample('browser', 3, { fps: 30 }),
        sample('agent', 3, { fps: 3, abr_mode: 'off' }),
        sample('native', 7_200, { fps: 5 }),
      ];
      for (const query of ['', '?source=nobody', '?limit=5'])
        expect((await read(id, `metrics${query}`)).body).toEqual({ items: all, next_cursor: null });
      expect((await read(id, 'metrics?source=browser')).body.items).toEqual([all[1], all[2]]);
      for (const [limit, query, expected] of [
        [1, '', all],
        [2, '', all],
        [3, '', all],
        [1, '&source=agent', [all[0], all[3]]],
      ] as const) {
        const seen: object[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
          const { body } = await read(id, `metrics?limit=${limit}${query}${more}`);
          expect(body.items.length).toBeLessThanOrEqual(limit);
          seen.push(...body.items);
          cursor = body.next_cursor;
        }
        expect(seen).toEqual(expected);
      }
    });

    test.each(['x', '', 'MTIz', Buffer.from('1 nobody').toString('base64url')])(
      'with the cursor %j: 400, before the session is looked for',
      async (cursor) => {
        for (const id of [await session(), UNKNOWN_ID])
          expect((await read(id, `metrics?cursor=${cursor}`)).body.error.code).toBe('validation_failed');
      },
    );
  });

  describe('an annotation', () => {
    test('is an event of the trace, at its time or now, also after the end', async () => {
      for (const id of [await session(), await session({ endedAtMs: now() })]) {
        const first = await annotate(id, { label: 'it froze', tags: ['freeze', ''], ts_unix_ms: at(60) });
        expect(first.status).toBe(201);
        expect(first.body).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
        expect((await annotate(id, { label: ' now ' })).status).toBe(201);
        const type = 'operator.annotation';
        expect((await read(id, 'trace/events')).body.events).toEqual([
          { source: 'agent', ts_unix_ms: at(60), type, payload: { label: 'it froze', tags: ['freeze', ''] } },
          { source: 'agent', ts_unix_ms: now(), type, payload: { label: ' now ', tags: [] } },
        ]);
      }
    });

    test.each([
      {},
      { label: ' ' },
      { label: 'x', ts_unix_ms: 0.5 },
      { label: 'x', tags: [1] },
      { label: 'x', more: 1 },
      { label: 'x'.repeat(32 * 1024) },
    ])('%j is 400', async (body) => {
      for (const id of [await session(), UNKNOWN_ID])
        expect((await annotate(id, body)).body.error.code).toBe('validation_failed');
    });
  });
});
