import { DAY_MS, HOUR_MS, MINUTE_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../platform/config/config.ts';
import type { Tx } from '../../platform/database/index.ts';
import type { JobWork } from '../../platform/platform.ts';
import { addSession, createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import { createTelemetry, type Telemetry } from '../index.ts';

describeDatabases('how long and how many samples are kept', (databases) => {
  let app: TestApp;
  let appId: string;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo' } });
    appId = made.body.app.id;
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    for (const table of ['session_samples', 'session_clocks', 'session_rejected_times'] as const)
      await db().deleteFrom(table).execute();
  });

  const db = () => app.plane.platform.database.db;
  const now = () => app.clock.nowMs();
  const live = () => addSession(app, { appId, userId: app.people.alice.id, state: 'pending' });

  /** Adds samples that arrived `ageMs` ago. */
  async function addSamples(sessionId: string, count: number, ageMs: number): Promise<void> {
    const rows = Array.from({ length: count }, (_, n) => ({
      session_id: sessionId,
      source: 'browser' as const,
      ts_unix_ms: now() - ageMs - n,
      host_id: '',
      metrics: '{"fps":60}',
      received_at: now() - ageMs,
    }));
    for (let from = 0; from < rows.length; from += 1_000)
      await db()
        .insertInto('session_samples')
        .values(rows.slice(from, from + 1_000))
        .execute();
  }
  const count = async (sessionId?: string): Promise<number> => {
    let query = db()
      .selectFrom('session_samples')
      .select((eb) => eb.fn.countAll<number>().as('count'));
    if (sessionId !== undefined) query = query.where('session_id', '=', sessionId);
    return Number((await query.executeTakeFirstOrThrow()).count);
  };
  const retain = () => app.plane.jobs.runNow('telemetry.retain');

  test('an hour while the session lives', async () => {
    const id = await live();
    await addSamples(id, 1, HOUR_MS);
    await addSamples(id, 1, HOUR_MS + 10);
    await retain();
    expect(await count(id)).toBe(1);
  });

  test('what was left at its end for a day, with its clock and counts', async () => {
    const ended = async (ageMs: number) => {
      const id = await addSession(app, {
        appId,
        userId: app.people.alice.id,
        state: 'stopped',
        endedAtMs: now() - ageMs,
      });
      await addSamples(id, 2, ageMs + 30 * 60_000);
      await db()
        .insertInto('session_clocks')
        .values({ session_id: id, client_offset_ms: 0, uncertainty_ms: 0, measured_at: now() - ageMs })
        .execute();
      await db()
        .insertInto('session_rejected_times')
        .values({ session_id: id, cause: 'seconds', count: 1, last_ts: 1, last_at: now() - ageMs })
        .execute();
      return id;
    };
    const [kept, gone] = [await ended(DAY_MS), await ended(DAY_MS + 1)];
    await retain();
    expect([await count(kept), await count(gone)]).toEqual([2, 0]);
    for (const table of ['session_clocks', 'session_rejected_times'] as const)
      expect(
        (await db().selectFrom(table).select('session_id').execute()).map((row) => row.session_id),
      ).toEqual([kept]);
  });

  test('nothing of a deleted session', async () => {
    const id = await live();
    await addSamples(id, 3, 0);
    await db().deleteFrom('sessions').where('id', '=', id).execute();
    await retain();
    expect(await count(id)).toBe(0);
  });

  describe('with a telemetry of its own', () => {
    /** Rows after each transaction of the sweep. */
    let counts: number[];
    let job: JobWork | null;
    let telemetry: Telemetry;
    const context = {
      fence: { lease: 'jobs.dispatch', number: 1, check: async () => undefined },
      params: {},
      trigger: 'schedule' as const,
      signal: new AbortController().signal,
    };

    function open(
      kept: { samplesOfHost?: number; samplesInAll?: number } = {},
      times: Partial<Config['telemetry']> = {},
    ): void {
      const { platform } = app.plane;
      const config = { ...platform.config, telemetry: { ...platform.config.telemetry, ...times } };
      counts = [];
      job = null;
      const database = {
        ...platform.database,
        db: platform.database.db,
        async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
          const result = await platform.database.transaction(work);
          counts.push(await count());
          return result;
        },
      };
      const jobs = {
        ...platform.jobs,
        handle: (_id: string, work: JobWork) => {
          job = work;
        },
      };
      telemetry = createTelemetry(
        { ...platform, config, database: database as typeof platform.database, jobs },
        kept,
      );
    }

    test('are swept at the interval of the environment, if it has one', () => {
      const retainInterval = { variable: 'SERVICE_TELEMETRY_RETAIN_INTERVAL', everyMs: MINUTE_MS };
      open({}, { retainInterval });
      expect(job?.lock).toEqual(retainInterval);
      open();
      expect(job?.lock).toBeNull();
    });

    test('12,000 expired samples leave in batches of 5,000', async () => {
      open();
      await addSamples(await live(), 12_000, 2 * HOUR_MS);
      await job?.run(context);
      const steps = [12_000, ...counts].map((rows, n, all) => (all[n - 1] ?? rows) - rows);
      expect(Math.max(...steps)).toBe(5_000);
      expect(await count()).toBe(0);
    });

    test('the newest so many of all sessions', async () => {
      open({ samplesInAll: 100 });
      const [older, newer] = [await live(), await live()];
      await addSamples(older, 90, 1_000);
      await addSamples(newer, 90, 10);
      await job?.run(context);
      // Samples with the same time are deleted together or not at all.
      expect([await count(older), await count(newer)]).toEqual([90, 90]);
      await addSamples(await live(), 90, 0);
      await job?.run(context);
      expect([await count(older), await count(newer)]).toEqual([0, 90]);
    });

    /** Stores posts with many samples one after another, without the rate limit of requests. */
    async function flood(
      sessionId: string,
      hostId: string | null,
      posts: number,
      client: 'browser' | 'native',
    ) {
      for (let n = 0; n < posts; n += 1) {
        await app.clock.pass(1);
        const samples = Array.from({ length: 64 }, (_, k) => ({
          ts_unix_ms: now() - 60_000 + n * 64 + k,
          metrics: { fps: n },
        }));
        const session = { id: sessionId, user_id: app.people.alice.id, host_id: hostId };
        telemetry.ingest.stats(session, { client, samples });
        if (n % 8 === 7) await app.plane.platform.periodicWriter.flush();
      }
      await app.plane.platform.periodicWriter.flush();
    }

    test.each([
      ['an hour', 1, 4_096],
      ['half an hour', 0.5, 4_096],
      ['two hours, which are 7,200 samples of a page', 2, 8_192],
    ])(
      'with a window of %s, the newest of a session and source, or a few more; another source loses nothing',
      async (_what, hours, kept) => {
        open({}, { rollingMs: hours * HOUR_MS });
        const id = await live();
        await flood(id, null, 2, 'native');
        await flood(id, null, (kept / 64) * 2.5, 'browser');
        const rows = await db()
          .selectFrom('session_samples')
          .select(['source', 'ts_unix_ms'])
          .where('session_id', '=', id)
          .orderBy('received_at')
          .execute();
        const browser = rows.filter(({ source }) => source === 'browser');
        expect(rows.length - browser.length).toBe(128);
        expect(browser.length).toBeGreaterThanOrEqual(kept);
        // A session is trimmed after 1/16 more samples, and a write contains eight posts.
        expect(browser.length).toBeLessThanOrEqual(kept + kept / 16 + 512);
      },
    );

    test('the newest so many of a host, however many sessions they are of', async () => {
      open({ samplesOfHost: 1_024 });
      const [first, ...others] = [await live(), await live(), await live(), await live()];
      await flood(first as string, 'another host', 1, 'browser');
      for (const id of others) await flood(id, 'this host', 16, 'browser');
      const ofHost = await db()
        .selectFrom('session_samples')
        .select('session_id')
        .where('host_id', '=', 'this host')
        .execute();
      expect(ofHost.length).toBeGreaterThanOrEqual(1_024);
      expect(ofHost.length).toBeLessThanOrEqual(1_024 + 2 * 512);
      expect(await count(others.at(-1))).toBe(1_024);
      expect(await count(first)).toBe(64);
    });

    test('viewers of a host push out nothing that the host measured', async () => {
      open({ samplesOfHost: 1_024 });
      const [measured, ...watched] = [await live(), await live(), await live(), await live()];
      for (let n = 0; n < 20; n += 1) {
        await app.clock.pass(1_000);
        telemetry.ingest.hostSample('this host', {
          type: 'session_metrics',
          session_id: measured as string,
          ts: now(),
          window_ms: 1_000,
          metrics: { fps: 60 },
        });
      }
      await app.plane.platform.periodicWriter.flush();
      expect(await count(measured)).toBe(20);
      for (const id of watched) await flood(id, 'this host', 16, 'browser');
      expect(await count(measured)).toBe(20);
    });
  });
});
