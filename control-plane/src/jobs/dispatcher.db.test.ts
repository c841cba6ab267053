import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { expect, test } from 'vitest';
import type { ControlJobId, JobOutcome } from '../platform/platform.ts';
import { describeDatabases } from '../testing/index.ts';
import { JANITOR, openJobsWorld, replica } from './testing/replicas.ts';

const OTHERS: ControlJobId[] = [
  'artwork.prune_orphans',
  'artwork.sweep',
  'devauth.reaper',
  'telemetry.retain',
];

describeDatabases('the dispatcher', ({ dialect, fresh }) => {
  const open = async (env: Record<string, string> = {}) => openJobsWorld(await fresh(), env);

  test('begins five seconds after the start, and looks every SERVICE_JOBS_TICK_SECS', async () => {
    const world = await open({ SERVICE_JOBS_TICK_SECS: '3' });
    world.one.leader.start();
    await world.clock.pass(4_999);
    expect(await world.runs()).toEqual([]);
    await world.clock.pass(1);
    await expect.poll(() => world.states()).toEqual(['succeeded']);
    await world.close();
  });

  test('plans the next run from the end of the last one', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    expect(await world.states()).toEqual(['running']);
    await world.clock.pass(2 * MINUTE_MS);
    world.one.finish();
    await expect.poll(() => world.states()).toEqual(['succeeded']);
    await world.one.tick();
    expect((await world.runs())[1]).toMatchObject({
      ...{ state: 'pending', trigger: 'schedule', scheduled_for: world.clock.nowMs() + 6 * HOUR_MS },
    });
    await world.clock.pass(6 * HOUR_MS - 1);
    await world.one.tick();
    expect(world.one.started).toHaveLength(1);
    await world.clock.pass(1);
    await world.one.tick();
    expect(world.one.started).toHaveLength(2);
    world.one.finish();
    await world.close();
  });

  test('a clock that was two days ahead for a moment keeps no job from its next run', async () => {
    const world = await open();
    const days = 48 * HOUR_MS;
    await world.one.tick();
    await expect.poll(() => world.states()).toEqual(['succeeded']);
    world.clock.jump(days);
    await world.one.tick();
    await expect.poll(() => world.states()).toEqual(['succeeded', 'succeeded']);
    // This tick plans the next run.
    await world.one.tick();
    world.clock.jump(-days);
    await world.one.tick();
    expect((await world.runs()).at(-1)).toMatchObject({
      state: 'pending',
      scheduled_for: world.clock.nowMs() + 6 * HOUR_MS,
    });
    await world.clock.pass(6 * HOUR_MS);
    await world.one.tick();
    await expect.poll(() => world.states()).toEqual(['succeeded', 'succeeded', 'succeeded']);
    await world.one.tick();
    expect((await world.runs()).find(({ state }) => state === 'pending')?.scheduled_for).toBe(
      world.clock.nowMs() + 6 * HOUR_MS,
    );
    await world.close();
  });

  test('runs that ended while the clock was ahead displace no later runs', async () => {
    const world = await open();
    await world.setInterval(60);
    await world.database.db.updateTable('jobs').set({ history_limit: 2 }).execute();
    const { started } = world.one;
    const runUntil = (count: number) =>
      expect
        .poll(async () => {
          await world.clock.pass(MINUTE_MS);
          await world.one.tick();
          return started.length >= count;
        })
        .toBe(true);
    world.clock.jump(48 * HOUR_MS);
    await runUntil(3);
    world.clock.jump(-48 * HOUR_MS);
    await world.clock.pass(10 * MINUTE_MS);
    await runUntil(6);
    // This tick deletes runs that are too old.
    await world.one.tick();
    const ended = (await world.runs()).filter(({ state }) => state === 'succeeded');
    expect(ended.map(({ summary }) => summary)).toEqual([
      `{"deleted":${started.length - 1}}`,
      `{"deleted":${started.length}}`,
    ]);
    await world.close();
  });

  test('goes on ticking while a job runs, and never starts it twice', async () => {
    const world = await open({ SERVICE_JOBS_CLAIM_TIMEOUT_SECS: '60' });
    await world.setInterval(60);
    world.one.hold({ ignoresSignal: true });
    await world.one.tick();
    await world.clock.pass(MINUTE_MS + 1);
    // The reaper ends the run, although the job ignores its signal and still works.
    await world.one.tick();
    expect((await world.runs())[0]).toMatchObject({
      ...{ state: 'aborted', error: 'nobody reported the end of this run in time' },
    });
    await world.clock.pass(MINUTE_MS);
    await world.one.tick();
    expect([await world.states(), world.one.started.length]).toEqual([['aborted', 'pending'], 1]);
    world.one.finish();
    await expect
      .poll(async () => {
        await world.one.tick();
        return world.one.started.length;
      })
      .toBe(2);
    expect((await world.runs())[0]?.state).toBe('aborted');
    world.one.finish();
    await world.close();
  });

  test('stores why a job failed, was skipped or deferred', async () => {
    const world = await open();
    world.one.hold();
    for (const [outcome, state, error] of [
      [new Error('no such table'), 'failed', 'no such table'],
      [{ state: 'skipped', summary: { reason: 'nothing to do' } }, 'skipped', null],
      [{ state: 'deferred' }, 'deferred', null],
    ] as const) {
      const ended = world.one.jobs.runNow(JANITOR);
      await expect.poll(() => world.one.started.length).toBeGreaterThan(0);
      await expect.poll(async () => (await world.states()).at(-1)).toBe('running');
      world.one.finish(outcome as JobOutcome | Error);
      await ended;
      const last = (await world.runs()).filter((run) => run.finished_at !== null).at(-1);
      expect([last?.state, last?.error]).toEqual([state, error]);
      await world.clock.pass(SECOND_MS);
    }
    expect((await world.runs()).at(-1)).toMatchObject({ state: 'pending', attempt: 2 });
    await world.close();
  });

  test('claims at most five runs in a tick, and none of a job that is off', async () => {
    const world = await open();
    const two = replica(world.database, world.clock);
    let ran = 0;
    for (const id of [...OTHERS, 'storage.home_janitor', 'library.discovery'] as ControlJobId[])
      two.jobs.handle(id, {
        async run() {
          ran += 1;
          return { state: 'succeeded' };
        },
      });
    await world.one.close();
    await two.jobs.start();
    await world.database.db
      .updateTable('jobs')
      .set({ enabled: 0 })
      .where('id', '=', 'devauth.reaper')
      .execute();
    await two.tick();
    await expect.poll(() => world.states()).toEqual(Array.from({ length: 5 }, () => 'succeeded'));
    expect(ran + two.started.length).toBe(5);
    await world.close(two);
  });

  test('runs the others when one of a job is lost with its claim', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    // As if the answer to the claim's commit was lost: the row has this process's fencing number, but the process does
    // not know the run.
    await world.database.db
      .insertInto('jobs')
      .values({
        ...(await world.database.db
          .selectFrom('jobs')
          .selectAll()
          .where('id', '=', JANITOR)
          .executeTakeFirstOrThrow()),
        id: 'lost.job',
      })
      .execute();
    const [run] = await world.runs();
    await world.database.db
      .insertInto('job_runs')
      .values({ ...run!, id: 'lost', job_id: 'lost.job' })
      .execute();
    await world.one.tick();
    const lost = (await world.runs()).find(({ id }) => id === 'lost');
    expect([lost?.state, lost?.error]).toEqual(['aborted', 'dispatcher went away']);
    expect((await world.runs()).find(({ id }) => id === run!.id)?.state).toBe('running');
    world.one.finish();
    await world.close();
  });

  test('old runs go: the newest of each target stay, and none older than SERVICE_JOBS_RUN_RETENTION_DAYS', async () => {
    const world = await open({ SERVICE_JOBS_RUN_RETENTION: '3', SERVICE_JOBS_RUN_RETENTION_DAYS: '2' });
    for (let n = 0; n < 6; n += 1) {
      await world.one.jobs.runNow(JANITOR);
      await world.clock.pass(MINUTE_MS);
    }
    await world.one.tick();
    const ended = async () => (await world.runs()).filter(({ finished_at }) => finished_at !== null).length;
    expect(await ended()).toBe(3);
    await world.database.db.updateTable('jobs').set({ enabled: 0 }).execute();
    await world.clock.pass(2 * 24 * HOUR_MS - 3 * MINUTE_MS);
    await world.one.tick();
    expect(await ended()).toBe(3);
    await world.clock.pass(10 * MINUTE_MS);
    await world.one.tick();
    expect(await ended()).toBe(0);
    await world.close();
  });

  test('old runs go as well after a clock that was a year ahead for a moment', async () => {
    const world = await open({ SERVICE_JOBS_RUN_RETENTION_DAYS: '2' });
    const enable = (enabled: 0 | 1) => world.database.db.updateTable('jobs').set({ enabled }).execute();
    await enable(0);
    world.clock.jump(365 * 24 * HOUR_MS);
    await world.one.tick();
    world.clock.jump(-365 * 24 * HOUR_MS);
    await enable(1);
    await world.one.tick();
    await expect.poll(() => world.states()).toEqual(['succeeded']);
    // The end of the run triggers the next deletion pass, but the run is not old enough yet.
    await world.one.tick();
    await enable(0);
    await world.clock.pass(2 * 24 * HOUR_MS + 10 * MINUTE_MS);
    await world.one.tick();
    expect((await world.states()).filter((state) => state === 'succeeded')).toEqual([]);
    await world.close();
  });

  test('a service that stops cuts its jobs short, and they are tried again', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    await world.one.jobs.close();
    expect(await world.runs()).toMatchObject([
      { state: 'deferred', summary: '{"reason":"the service is stopping"}' },
      { state: 'pending', attempt: 2, scheduled_for: world.clock.nowMs() + 30 * SECOND_MS },
    ]);
    await world.close();
  });

  test(`the end of a run that cannot be stored is stored by a later tick (${dialect})`, async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    await world.database.db.schema.alterTable('job_runs').renameTo('hidden_runs').execute();
    world.one.finish({ state: 'succeeded', summary: { deleted: 3 } });
    await world.clock.pass(1);
    await world.database.db.schema.alterTable('hidden_runs').renameTo('job_runs').execute();
    await expect
      .poll(async () => {
        await world.one.tick();
        return (await world.runs())[0]?.summary;
      })
      .toBe('{"deleted":3}');
    await world.close();
  });
});
