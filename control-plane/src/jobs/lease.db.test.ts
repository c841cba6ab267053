import { HOUR_MS, SECOND_MS } from '@footlight/platform';
import { expect, test } from 'vitest';
import type { JobRunContext } from '../platform/platform.ts';
import { describeDatabases, ManualClock } from '../testing/index.ts';
import { JANITOR, openJobsWorld, type Replica, replica } from './testing/replicas.ts';

describeDatabases('the lease of the dispatcher', ({ dialect, fresh }) => {
  const open = async (env: Record<string, string> = {}) => openJobsWorld(await fresh(), env);
  type World = Awaited<ReturnType<typeof open>>;

  /** A second process that has taken the expired lease of the first one, and has not ticked yet. */
  async function takeLease({ database }: World): Promise<Replica> {
    const clock = new ManualClock();
    clock.jump(HOUR_MS);
    const two = replica(database, clock);
    let hasLease = false;
    // Start the jobs only now: this registers the task, so no tick has run before.
    await two.jobs.start();
    await two.leader.runNow('jobs.dispatch', async () => {
      hasLease = true;
    });
    expect(hasLease).toBe(true);
    return two;
  }

  test('the new holder ends the runs of the former holder', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    const slept = world.one.started[0] as JobRunContext;
    const two = await takeLease(world);
    await two.tick();
    const [first, second] = await world.runs();
    expect([first?.state, first?.error]).toEqual(['aborted', 'dispatcher went away']);
    await expect(world.database.transaction((tx) => slept.fence.check(tx))).rejects.toThrow('lease');
    expect(second?.state ?? 'pending').not.toBe('running');
    await world.close(two);
  });

  test('the former holder stores no end of its run, not even before that', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    const two = await takeLease(world);
    world.one.finish({ state: 'succeeded', summary: { late: true } });
    // Wait for the end of the job; the next tick follows it.
    await world.one.tick();
    expect(await world.runs()).toMatchObject([{ state: 'running', summary: '{}' }]);
    await two.tick();
    expect((await world.runs())[0]).toMatchObject({ state: 'aborted', summary: '{}' });
    await world.close(two);
  });

  test('the former holder reaps no run of the new one', async () => {
    const world = await open();
    await world.one.tick();
    // Wait; otherwise the new holder would reap this run and plan the next one for later.
    await expect.poll(world.states).toEqual(['succeeded']);
    const two = await takeLease(world);
    two.hold();
    await world.setInterval(60);
    await two.tick();
    await expect.poll(async () => (await world.runs()).at(-1)?.state).toBe('running');
    await world.one.tick();
    expect((await world.runs()).at(-1)).toMatchObject({ state: 'running', error: null });
    await world.close(two);
  });

  test('the former holder plans nothing', async () => {
    const world = await open();
    await world.one.tick();
    const two = await takeLease(world);
    await world.database.db.deleteFrom('job_runs').execute();
    await world.one.tick();
    expect(await world.runs()).toEqual([]);
    await world.close(two);
  });

  test('the former holder claims nothing', async () => {
    const world = await open();
    await world.one.tick();
    await world.one.tick();
    const two = await takeLease(world);
    await world.database.db
      .updateTable('job_runs')
      .set({ scheduled_for: world.clock.nowMs() })
      .where('state', '=', 'pending')
      .execute();
    await world.one.tick();
    expect([await world.states(), world.one.started.length]).toEqual([['succeeded', 'pending'], 1]);
    await world.close(two);
  });

  test('the former holder deletes no old runs', async () => {
    const world = await open({ SERVICE_JOBS_RUN_RETENTION: '3' });
    for (let n = 0; n < 3; n += 1) {
      await world.one.jobs.runNow(JANITOR);
      await world.clock.pass(SECOND_MS);
    }
    await world.one.tick();
    const two = await takeLease(world);
    const ended = (await world.states()).filter((state) => state === 'succeeded').length;
    expect(ended).toBe(3);
    const caller = {
      userId: '',
      role: 'admin' as const,
      tokenId: '',
      deviceId: null,
      username: '',
      email: '',
    };
    await world.one.jobs.admin.update(caller, JANITOR, { history_limit: 1 });
    await world.one.tick();
    expect((await world.states()).filter((state) => state === 'succeeded')).toHaveLength(ended);
    await world.close(two);
  });

  test('a job of the former holder is told to end when the renewal fails', async () => {
    const world = await open();
    world.one.hold();
    await world.one.tick();
    world.one.leader.start();
    const two = await takeLease(world);
    const { signal } = world.one.started[0] as JobRunContext;
    await world.clock.pass(5 * SECOND_MS);
    // A renewal is skipped while a tick runs, so wait for the end of this tick.
    await world.one.tick();
    expect(signal.aborted).toBe(false);
    await world.clock.pass(5 * SECOND_MS);
    await expect.poll(() => signal.aborted).toBe(true);
    await world.close(two);
  });

  test('is kept while ticks are rare', async () => {
    const world = await open({ SERVICE_JOBS_TICK_SECS: '600' });
    world.one.leader.start();
    await world.clock.pass(5 * SECOND_MS);
    await expect.poll(() => world.states()).toEqual(['succeeded']);
    const expiresAt = async () =>
      (
        await world.database.db
          .selectFrom('leases')
          .select('expires_at')
          .where('name', '=', 'jobs.dispatch')
          .executeTakeFirstOrThrow()
      ).expires_at;
    // A renewal is skipped while a tick runs, so wait for the end of this tick.
    await world.one.tick();
    const taken = await expiresAt();
    // This is long before the next tick.
    await world.clock.pass(5 * SECOND_MS);
    // On SQLite there are no other replicas, so renewals are not stored.
    if (dialect === 'postgres') await expect.poll(expiresAt).toBeGreaterThan(taken);
    else await world.clock.pass(30 * SECOND_MS);
    expect(world.one.leader.held()).toEqual(['jobs.dispatch']);
    await world.close();
  });
});
