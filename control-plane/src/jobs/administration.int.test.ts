import { HOUR_MS, MINUTE_MS } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CallOptions,
  createTestApp,
  describeDatabases,
  loggedActivity,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';
import { CODE_JOBS } from './code-jobs.ts';
import { addCallingHost, type CallingHost } from './testing/hosts.ts';

const JANITOR = 'auth.token_janitor';

describeDatabases('jobs of administrators', ({ fresh }) => {
  let app: TestApp;
  let host: CallingHost;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), { env: { SERVICE_TELEMETRY_RETAIN_INTERVAL: '90s' } });
    host = await addCallingHost(app, 'hosta');
  });
  afterAll(() => app.close());

  const call = (method: string, path: string, body?: unknown) =>
    app.call(
      app.people.admin,
      method,
      `/v1/admin/jobs${path}`,
      body === undefined ? {} : ({ body } as CallOptions),
    );
  const read = async (id: string) => (await call('GET', `/${id}`)).body;
  const iso = (ms: number) => new Date(ms).toISOString();

  describe('the list', () => {
    test('has the jobs of the code that have their work here, by id, in pages', async () => {
      const { body } = await call('GET', '');
      const ids = body.items.map(({ id }: { id: string }) => id);
      expect(ids).toEqual([...ids].sort());
      expect(body.next_cursor).toBeNull();
      for (const id of [
        JANITOR,
        'artwork.sweep',
        'artwork.prune_orphans',
        'devauth.reaper',
        'telemetry.retain',
      ])
        expect(ids).toContain(id);
      for (const id of ids) expect(CODE_JOBS.has(id)).toBe(true);
      const paged: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await call('GET', `?limit=4${cursor && `&cursor=${cursor}`}`);
        paged.push(...page.body.items.map(({ id }: { id: string }) => id));
        cursor = page.body.next_cursor;
      }
      expect(paged).toEqual(ids);
      for (const limit of ['0', '-1', 'x', '501'])
        expect((await call('GET', `?limit=${limit}`)).body.items).toHaveLength(ids.length);
      refused(await call('GET', '?cursor=%20'), 400, 'validation_failed');
    });

    test('shows a job of the instance with its schedule and standing', async () => {
      expect(await read(JANITOR)).toEqual({
        ...{ id: JANITOR, plane: 'control', scope: 'instance', managed: true, enabled: true },
        name: expect.any(String),
        description: expect.any(String),
        schedule: {
          ...{ kind: 'interval', interval_secs: 21_600, window_start: null, window_end: null },
          ...{ window_days: [], timezone: 'UTC', locked: false, locked_by: null },
        },
        ...{ history_limit: 50, running: false, last_run: null, consecutive_failures: 0 },
        next_run_at: iso(app.clock.nowMs()),
      });
    });

    test('shows a job of hosts with a target for each, and one that is listed only with a note', async () => {
      const ofHosts = await read('home.gc');
      expect(ofHosts.targets).toEqual([
        {
          ...{ host_id: host.id, node_name: 'hosta', running: false, last_run: null },
          next_run_at: iso(app.clock.nowMs()),
        },
      ]);
      expect(ofHosts).not.toHaveProperty('running');
      const listed = await read('library.scanner');
      expect(listed).toMatchObject({ managed: false, unmanaged_note: listed.description });
      for (const key of ['targets', 'running', 'next_run_at', 'last_run'])
        expect(listed).not.toHaveProperty(key);
    });

    test('shows the interval that the environment sets, and which variable does', async () => {
      expect((await read('telemetry.retain')).schedule).toMatchObject({
        ...{ interval_secs: 90, locked: true, locked_by: 'SERVICE_TELEMETRY_RETAIN_INTERVAL' },
      });
    });
  });

  describe('a change', () => {
    test.each([
      [{ interval_secs: 59 }],
      [{ interval_secs: 1.5 }],
      [{ interval_secs: null }],
      [{ window_start: '03:00' }],
      [{ window_start: '03:00', window_end: null }],
      [{ window_start: '03:00', window_end: '03:00:00' }],
      [{ window_start: '24:00', window_end: '03:00' }],
      [{ window_start: '3:00', window_end: '04:00' }],
      [{ window_days: [7] }],
      [{ window_days: [-1] }],
      [{ timezone: 'Mars/Olympus' }],
      [{ timezone: '+01:00' }],
      [{ timezone: '' }],
      [{ history_limit: 0 }],
      [{ history_limit: 501 }],
      [{ enabled: null }],
      [{ enabled: 'no' }],
      [{ managed: false }],
    ])('%o is refused, and stores nothing', async (body) => {
      const before = await read(JANITOR);
      refused(await call('PATCH', `/${JANITOR}`, { enabled: false, ...body }), 400, 'validation_failed');
      expect(await read(JANITOR)).toEqual(before);
    });

    test('is checked for the job, for being managed, for its values and for the lock, in this order', async () => {
      refused(await call('PATCH', '/no.job', { interval_secs: 1 }), 404, 'not_found');
      refused(await call('PATCH', '/library.scanner', { interval_secs: 1 }), 409, 'job_unmanaged');
      refused(
        await call('PATCH', '/artwork.prune_orphans', { interval_secs: 600 }),
        400,
        'validation_failed',
      );
      refused(
        await call('PATCH', '/telemetry.retain', { interval_secs: 600, timezone: '?' }),
        400,
        'validation_failed',
      );
      refused(await call('PATCH', '/telemetry.retain', { interval_secs: 600 }), 409, 'schedule_locked');
      const other = await call('PATCH', '/telemetry.retain', { history_limit: 49 });
      expect([other.status, other.body.history_limit]).toEqual([200, 49]);
    });

    test('is stored, answered and logged; an empty one changes nothing', async () => {
      const body = {
        ...{ interval_secs: 3_600, window_start: '22:30', window_end: '04:00:30' },
        ...{ window_days: [5, 1, 5], timezone: 'Europe/Berlin', history_limit: 10 },
      };
      const changed = await call('PATCH', '/devauth.reaper', body);
      expect(changed.status).toBe(200);
      expect(changed.body).toMatchObject({
        schedule: {
          ...{ interval_secs: 3_600, window_start: '22:30:00', window_end: '04:00:30' },
          ...{ window_days: [1, 5], timezone: 'Europe/Berlin' },
        },
        history_limit: 10,
      });
      expect(await read('devauth.reaper')).toEqual(changed.body);
      expect((await call('PATCH', '/devauth.reaper', {})).body).toEqual(changed.body);
      expect(
        (await loggedActivity(app, { action: 'job.update', target_id: 'devauth.reaper' })).map(
          ({ details }) => details,
        ),
      ).toEqual([{ keys: Object.keys(body).sort() }]);
      const cleared = await call('PATCH', '/devauth.reaper', { window_start: null, window_end: null });
      expect(cleared.body.schedule).toMatchObject({ window_start: null, window_end: null });
    });

    test('of the schedule plans a pending run again', async () => {
      await app.plane.jobs.runNow('artwork.sweep');
      await app.plane.platform.leader.runNow('jobs.dispatch');
      const planned = (await read('artwork.sweep')).next_run_at;
      expect(planned).toBe(iso(app.clock.nowMs() + 15 * MINUTE_MS));
      const changed = await call('PATCH', '/artwork.sweep', { interval_secs: 7_200 });
      expect(changed.body.next_run_at).toBe(iso(app.clock.nowMs() + 2 * HOUR_MS));
      const off = await call('PATCH', '/artwork.sweep', { enabled: false });
      expect(off.body).toMatchObject({ enabled: false, next_run_at: null });
    });
  });

  describe('a run by hand', () => {
    test('is checked in the order of the declared refusals', async () => {
      refused(await call('POST', '/no.job/run', { host_id: 'x' }), 404, 'not_found');
      refused(await call('POST', '/home.gc/run'), 400, 'validation_failed');
      refused(await call('POST', `/${JANITOR}/run`, { host_id: host.id }), 400, 'validation_failed');
      refused(await call('POST', '/home.gc/run', { host_id: 'x' }), 400, 'validation_failed');
      refused(await call('POST', '/home.gc/run', { host_id: UNKNOWN_ID }), 404, 'not_found');
      refused(await call('POST', '/library.scanner/run', { host_id: host.id }), 409, 'job_unmanaged');
      refused(await call('POST', '/artwork.sweep/run'), 409, 'job_disabled');
    });

    test('is queued for now, logged, and pulls a pending run forward', async () => {
      const first = await call('POST', '/home.gc/run', { host_id: host.id });
      expect(first.status).toBe(202);
      expect(first.body).toEqual({
        ...{ run_id: expect.any(String), state: 'pending', scheduled_for: iso(app.clock.nowMs()) },
        eta_note: expect.stringContaining('60 s'),
      });
      const again = await call('POST', '/home.gc/run', { host_id: host.id });
      expect(again.body).toEqual(first.body);
      expect(
        (await loggedActivity(app, { action: 'job.run', target_id: 'home.gc' })).map(
          ({ details }) => details,
        ),
      ).toEqual([
        { run_id: first.body.run_id, host_id: host.id },
        { run_id: first.body.run_id, host_id: host.id },
      ]);
      expect((await read('home.gc')).targets[0].next_run_at).toBe(first.body.scheduled_for);
      expect((await host.pending()).body.runs).toHaveLength(1);
      refused(await call('POST', '/home.gc/run', { host_id: host.id }), 409, 'job_already_running');
      expect((await read('home.gc')).targets[0].running).toBe(true);
      await host.report({ run_id: first.body.run_id });
    });

    test('of the control plane runs at the next tick, and is in the history', async () => {
      await app.clock.pass(MINUTE_MS);
      const { body } = await call('POST', `/${JANITOR}/run`);
      expect(body.eta_note).toContain('10 s');
      await app.plane.jobs.runNow(JANITOR);
      const job = await read(JANITOR);
      expect(job.last_run).toEqual({
        ...{ id: body.run_id, host_id: null, state: 'succeeded', trigger: 'manual', error: null },
        ...{ started_at: iso(app.clock.nowMs()), finished_at: iso(app.clock.nowMs()), duration_ms: 0 },
        summary: { deleted: 0 },
      });
      const { body: history } = await call('GET', `/${JANITOR}/runs`);
      expect(history.items[0]).toEqual(job.last_run);
    });
  });

  describe('the history', () => {
    test('is newest first, in pages, and of one host where that is asked', async () => {
      const other = await addCallingHost(app, 'hostb');
      for (let n = 0; n < 3; n += 1) {
        for (const one of [host, other]) {
          await app.clock.pass(MINUTE_MS);
          await call('POST', '/home.gc/run', { host_id: one.id });
          const [run] = (await one.pending()).body.runs;
          await app.clock.pass(1_500);
          await one.report({ run_id: run.run_id, summary: { n } });
        }
      }
      const all = (await call('GET', '/home.gc/runs')).body.items;
      expect(all).toHaveLength(7);
      expect(all.map(({ started_at }: { started_at: string }) => started_at)).toEqual(
        all
          .map(({ started_at }: { started_at: string }) => started_at)
          .sort()
          .reverse(),
      );
      expect(all[0]).toMatchObject({ host_id: other.id, duration_ms: 1_500, summary: { n: 2 } });
      const own = (await call('GET', `/home.gc/runs?host_id=${other.id}`)).body.items;
      expect(own.map(({ summary }: { summary: unknown }) => summary)).toEqual([{ n: 2 }, { n: 1 }, { n: 0 }]);
      const paged: unknown[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await call('GET', `/home.gc/runs?limit=3${cursor && `&cursor=${cursor}`}`);
        paged.push(...body.items);
        cursor = body.next_cursor;
      }
      expect(paged).toEqual(all);
      for (const query of ['cursor=nonsense', 'limit=0', 'limit=501', 'limit=x'])
        expect((await call('GET', `/home.gc/runs?${query}`)).body.items).toEqual(all);
      refused(await call('GET', '/home.gc/runs?host_id=x'), 400, 'validation_failed');
      refused(await call('GET', '/no.job/runs'), 404, 'not_found');
      expect(
        (await read('home.gc')).targets.map(({ node_name }: { node_name: string }) => node_name),
      ).toEqual(['hosta', 'hostb']);
    });

    test('counts failed and aborted runs since the last success', async () => {
      const { db } = app.plane.platform.database;
      const add = async (state: 'failed' | 'aborted' | 'succeeded' | 'skipped', at: number) =>
        db
          .insertInto('job_runs')
          .values({
            ...{
              id: app.plane.platform.random.uuid(),
              job_id: 'artwork.prune_orphans',
              host_id: null,
              state,
            },
            ...{ trigger: 'manual', actor_user_id: null, attempt: 1, scheduled_for: at, claimed_at: at },
            ...{ started_at: at, finished_at: at, params: '{}', summary: '{}', error: null, created_at: at },
            ...{ claimed_boot: null, fence: null },
          })
          .execute();
      const states = ['failed', 'succeeded', 'failed', 'skipped', 'aborted', 'failed'] as const;
      for (const [n, state] of states.entries()) await add(state, app.clock.nowMs() + n);
      expect(await read('artwork.prune_orphans')).toMatchObject({
        consecutive_failures: 3,
        last_run: { state: 'failed' },
        next_run_at: null,
      });
    });
  });
});

describeDatabases('the rows of jobs', ({ fresh }) => {
  test('follow the code at a start, and keep what administrators set', async () => {
    const target = await fresh();
    const first = await createTestApp(target, { env: { SERVICE_JOBS_TIMEZONE: 'Asia/Tokyo' } });
    const { db } = first.plane.platform.database;
    await first.call(first.people.admin, 'PATCH', `/v1/admin/jobs/${JANITOR}`, {
      body: { interval_secs: 600 },
    });
    await db
      .updateTable('jobs')
      .set({ name: 'Old name', plane: 'agent' })
      .where('id', '=', JANITOR)
      .execute();
    const row = await db.selectFrom('jobs').selectAll().where('id', '=', JANITOR).executeTakeFirstOrThrow();
    await db
      .insertInto('jobs')
      .values({ ...row, id: 'gone.job' })
      .execute();
    await first.close();
    const second = await createTestApp(target, {
      seedPeople: false,
      env: { SERVICE_JOBS_TIMEZONE: 'Europe/Berlin', SERVICE_JOBS_RUN_RETENTION: '7' },
    });
    const rows = await second.plane.platform.database.db.selectFrom('jobs').selectAll().execute();
    const janitor = rows.find(({ id }) => id === JANITOR);
    expect(janitor).toMatchObject({
      plane: 'control',
      interval_secs: 600,
      timezone: 'Asia/Tokyo',
      history_limit: 50,
    });
    expect(janitor?.name).not.toBe('Old name');
    expect(rows.map(({ id }) => id)).not.toContain('gone.job');
    await second.close();
  });

  test('take zone and kept runs of new jobs from the environment', async () => {
    const app = await createTestApp(await fresh(), {
      env: { SERVICE_JOBS_TIMEZONE: 'Europe/Berlin', SERVICE_JOBS_RUN_RETENTION: '7' },
    });
    const { body } = await app.call(app.people.admin, 'GET', `/v1/admin/jobs/${JANITOR}`);
    expect([body.schedule.timezone, body.history_limit]).toEqual(['Europe/Berlin', 7]);
    await app.close();
  });
});
