import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, refused, type TestApp, UNKNOWN_ID } from '../testing/index.ts';
import { addCallingHost, type CallingHost } from './testing/hosts.ts';

describeDatabases('runs of hosts', ({ fresh }) => {
  let app: TestApp;
  let host: CallingHost;
  let other: CallingHost;
  let names = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    names += 1;
    host = await addCallingHost(app, `host${names}`);
    other = await addCallingHost(app, `other${names}`);
    await app.clock.pass(SECOND_MS);
  });

  const queue = async (on = host): Promise<string> => {
    const answer = await app.call(app.people.admin, 'POST', '/v1/admin/jobs/home.gc/run', {
      body: { host_id: on.id },
    });
    return answer.body.run_id;
  };
  const rowsOf = (on: CallingHost) =>
    app.plane.platform.database.db
      .selectFrom('job_runs')
      .selectAll()
      .where('host_id', '=', on.id)
      .orderBy('created_at')
      .orderBy('attempt')
      .execute();
  /** A claimed run of the host. */
  const claimed = async (): Promise<string> => {
    const id = await queue();
    expect((await host.pending()).body.runs).toHaveLength(1);
    return id;
  };
  const agentRegisters = (bootId: string) =>
    app.plane.platform.database.transaction((tx) =>
      app.plane.jobs.agents.agentsRestarted(tx, [{ hostId: host.id, bootId }]),
    );

  describe('a poll', () => {
    test('claims what is due for its own host', async () => {
      const id = await queue();
      expect((await other.pending()).body).toEqual({ runs: [] });
      expect((await host.pending()).body).toEqual({
        runs: [{ run_id: id, job_id: 'home.gc', params: {}, deadline_secs: 3_600 }],
      });
      expect((await host.pending()).body).toEqual({ runs: [] });
      const at = app.clock.nowMs();
      expect(await rowsOf(host)).toMatchObject([
        { state: 'running', claimed_at: at, started_at: at, claimed_boot: host.bootId, finished_at: null },
      ]);
    });

    test('hands out again after a minute what the same process claimed, with the time that is left', async () => {
      const id = await claimed();
      await app.clock.pass(MINUTE_MS);
      expect((await host.pending()).body.runs).toEqual([]);
      await app.clock.pass(SECOND_MS);
      expect((await host.pending()).body.runs).toMatchObject([{ run_id: id, deadline_secs: 3_539 }]);
      host.bootId = UNKNOWN_ID;
      expect((await host.pending()).body.runs).toEqual([]);
      host.bootId = null;
      expect((await host.pending()).body.runs).toEqual([]);
    });

    test('claims no run of a job that is switched off', async () => {
      await queue();
      const set = (enabled: boolean) =>
        app.call(app.people.admin, 'PATCH', '/v1/admin/jobs/home.gc', { body: { enabled } });
      await set(false);
      expect((await host.pending()).body.runs).toEqual([]);
      await set(true);
      expect((await host.pending()).body.runs).toHaveLength(1);
    });

    test('ten at once claim a run once', async () => {
      await queue();
      const answers = await Promise.all(Array.from({ length: 10 }, () => host.pending()));
      expect(answers.flatMap(({ body }) => body.runs)).toHaveLength(1);
    });
  });

  describe('a report', () => {
    test.each(['succeeded', 'failed', 'skipped'] as const)('that a run %s ends it', async (state) => {
      const id = await claimed();
      await app.clock.pass(SECOND_MS);
      const answer = await host.report({ run_id: id, state, summary: { deleted: 1 }, error: 'disk on fire' });
      expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
      expect(await rowsOf(host)).toMatchObject([
        {
          ...{ id, state, summary: '{"deleted":1}', error: state === 'failed' ? 'disk on fire' : null },
          finished_at: app.clock.nowMs(),
        },
      ]);
    });

    test('that a run is deferred is followed by the next attempt, on the ladder', async () => {
      const id = await claimed();
      await host.report({ run_id: id, state: 'deferred', summary: { reason: 'live sessions' } });
      for (let n = 0; n < 2; n += 1)
        expect((await host.report({ run_id: id, state: 'deferred' })).body).toEqual({ ok: true });
      expect(await rowsOf(host)).toMatchObject([
        { state: 'deferred', attempt: 1, trigger: 'manual' },
        ...[
          {
            state: 'pending',
            attempt: 2,
            trigger: 'manual',
            scheduled_for: app.clock.nowMs() + 30 * SECOND_MS,
          },
        ],
      ]);
      await app.clock.pass(29 * SECOND_MS);
      expect((await host.pending()).body.runs).toEqual([]);
      await app.clock.pass(SECOND_MS);
      const [next] = (await host.pending()).body.runs;
      await host.report({ run_id: next.run_id, state: 'deferred' });
      expect((await rowsOf(host))[2]).toMatchObject({
        ...{ attempt: 3, scheduled_for: app.clock.nowMs() + MINUTE_MS },
      });
    });

    test('may come twice, and late: the first end counts', async () => {
      const id = await claimed();
      await agentRegisters(UNKNOWN_ID);
      expect(await rowsOf(host)).toMatchObject([{ state: 'aborted', error: 'agent restarted' }]);
      for (const state of ['succeeded', 'failed', 'deferred'] as const)
        expect((await host.report({ run_id: id, state })).body).toEqual({ ok: true });
      expect(await rowsOf(host)).toMatchObject([{ state: 'aborted' }]);
    });

    test('ten at once end a run once', async () => {
      const id = await claimed();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          host.report({ run_id: id, state: n % 2 ? 'deferred' : 'succeeded' }),
        ),
      );
      for (const { status } of answers) expect([200, 409]).toContain(status);
      const rows = await rowsOf(host);
      expect(rows.filter(({ state }) => state === 'pending').length).toBe(
        rows[0]?.state === 'deferred' ? 1 : 0,
      );
    });

    test('of an unknown run, of a run of another host and with a wrong secret: one and the same 401', async () => {
      const foreign = await queue(other);
      await other.pending();
      const body = { run_id: foreign, state: 'succeeded' };
      const answers = [
        await host.report({ run_id: UNKNOWN_ID }),
        await host.report({ run_id: foreign }),
        await host.report({ run_id: foreign, summary: { long: 'x'.repeat(5_000) } }),
        await host.call('POST', '/v1/agent/jobs/report', body, 'A'.repeat(43)),
      ];
      for (const answer of answers) refused(answer, 401, 'unauthorized');
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const headers = answers.map(({ headers: { date: _, ...rest } }) => rest);
      for (const other of headers) expect(other).toEqual(headers[0]);
      expect(await rowsOf(other)).toMatchObject([{ state: 'running' }]);
    });

    test('is checked for the credential, the body, the owner, the end and the summary, in this order', async () => {
      const id = await claimed();
      const report = (body: unknown, secret?: string) =>
        host.call('POST', '/v1/agent/jobs/report', body, secret);
      refused(await report('{', 'A'.repeat(43)), 401, 'unauthorized');
      for (const body of [
        '{',
        {},
        { run_id: id },
        { run_id: 'x', state: 'succeeded' },
        { run_id: id, state: 'aborted' },
        { run_id: id, state: 'done' },
        { run_id: id, state: 'succeeded', summary: [] },
        { run_id: id, state: 'succeeded', more: 'x'.repeat(64 * 1024) },
      ])
        refused(await report(body), 400, 'validation_failed');
      const long = { run_id: id, state: 'succeeded', summary: { long: 'x'.repeat(4_086) } };
      refused(await report(long), 400, 'validation_failed');
      expect(await rowsOf(host)).toMatchObject([{ state: 'running' }]);
      expect((await report({ ...long, summary: { long: 'x'.repeat(4_085) }, more: 1 })).status).toBe(200);
      expect((await report(long)).body).toEqual({ ok: true });
    });

    test('of an unclaimed run is a conflict', async () => {
      refused(await host.report({ run_id: await queue() }), 409, 'conflict');
      expect(await rowsOf(host)).toMatchObject([{ state: 'pending' }]);
    });
  });

  describe('the registration of an agent', () => {
    test('ends the runs that another process claimed, and no others', async () => {
      await claimed();
      await agentRegisters(host.bootId as string);
      expect(await rowsOf(host)).toMatchObject([{ state: 'running' }]);
      await agentRegisters(UNKNOWN_ID);
      expect(await rowsOf(host)).toMatchObject([{ state: 'aborted', error: 'agent restarted', rerun: 0 }]);
    });
  });

  test('an unreported run ends after its time, and its late report changes nothing', async () => {
    const id = await claimed();
    const tick = () => app.plane.platform.leader.runNow('jobs.dispatch');
    app.clock.jump(60 * MINUTE_MS);
    await tick();
    expect((await rowsOf(host))[0]).toMatchObject({ id, state: 'running' });
    app.clock.jump(SECOND_MS);
    await tick();
    const ended = { state: 'aborted', error: 'nobody reported the end of this run in time' };
    expect((await rowsOf(host))[0]).toMatchObject({ id, ...ended });
    expect((await host.report({ run_id: id })).body).toEqual({ ok: true });
    expect((await rowsOf(host))[0]).toMatchObject({ id, ...ended });
  });

  describe('an event', () => {
    const event = (on = host) =>
      app.plane.platform.database.transaction((tx) => app.plane.platform.jobs.event(tx, 'home.gc', on.id));

    test('adds a run; for a second event that run suffices', async () => {
      await event();
      await event();
      expect(await rowsOf(host)).toMatchObject([{ state: 'pending', trigger: 'event' }]);
    });

    test('during a running run is followed by one more run at its end, however many come', async () => {
      const id = await claimed();
      for (let n = 0; n < 3; n += 1) await event();
      expect(await rowsOf(host)).toMatchObject([{ state: 'running', rerun: 1 }]);
      await app.clock.pass(SECOND_MS);
      await host.report({ run_id: id });
      expect(await rowsOf(host)).toMatchObject([
        { state: 'succeeded', rerun: 0 },
        { state: 'pending', trigger: 'event', scheduled_for: app.clock.nowMs() },
      ]);
    });

    test('pulls a pending run forward', async () => {
      const id = await claimed();
      await host.report({ run_id: id, state: 'deferred' });
      await event();
      expect((await rowsOf(host))[1]).toMatchObject({ scheduled_for: app.clock.nowMs(), attempt: 2 });
    });
  });

  test('runs go with their host and stay without their author', async () => {
    const id = await claimed();
    await host.report({ run_id: id });
    const { db } = app.plane.platform.database;
    const gone = await app.addPerson(`gone${names}`, 'admin');
    await db.updateTable('job_runs').set({ actor_user_id: gone.id }).where('id', '=', id).execute();
    await app.call(app.people.admin, 'DELETE', `/v1/users/${gone.id}`);
    expect(await rowsOf(host)).toMatchObject([{ actor_user_id: null }]);
    await app.call(app.people.admin, 'POST', `/v1/hosts/${host.id}/drain`);
    expect((await app.call(app.people.admin, 'DELETE', `/v1/hosts/${host.id}`)).status).toBe(204);
    expect(await rowsOf(host)).toEqual([]);
  });
});

describeDatabases('with SERVICE_JOBS=0', ({ fresh }) => {
  test('hosts get no runs, nothing is planned, and a run by hand says that it waits', async () => {
    const app = await createTestApp(await fresh(), { env: { SERVICE_JOBS: '0' } });
    const host = await addCallingHost(app, 'hosta');
    const run = await app.call(app.people.admin, 'POST', '/v1/admin/jobs/home.gc/run', {
      body: { host_id: host.id },
    });
    expect([run.status, run.body.eta_note]).toEqual([202, expect.stringContaining('SERVICE_JOBS')]);
    await app.plane.listen();
    await app.clock.pass(10 * MINUTE_MS);
    expect((await host.pending()).body).toEqual({ runs: [] });
    const rows = await app.plane.platform.database.db.selectFrom('job_runs').select('state').execute();
    expect(rows).toEqual([{ state: 'pending' }]);
    await app.close();
  });
});
