import { createLogger, systemRandom } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeDatabases, ManualClock } from '../testing/index.ts';
import { type Database, openDatabase } from './database/index.ts';
import { createLeader, LeaseLost } from './leader.ts';

const logger = createLogger('silent');

describeDatabases('leader tasks', (databases) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(await databases.fresh(), { logger });
  });
  afterAll(() => database.close());

  function replica(clock = new ManualClock()) {
    const bus = { connected: true, isConnected: () => bus.connected };
    return { bus, clock, leader: createLeader({ database, clock, random: systemRandom, logger, bus }) };
  }

  test('run on their interval once started, and never two at a time', async () => {
    const { clock, leader } = replica();
    let runs = 0;
    let finish: () => void = () => undefined;
    leader.register({
      id: 'interval',
      everyMs: 1_000,
      run: () => {
        runs += 1;
        return new Promise((resolve) => {
          finish = resolve;
        });
      },
    });
    await clock.pass(5_000);
    expect(runs).toBe(0);
    leader.start();
    await clock.pass(1_000);
    await expect.poll(() => runs).toBe(1);
    await clock.pass(3_000);
    expect(runs).toBe(1);
    finish();
    await expect
      .poll(async () => {
        await clock.pass(1_000);
        return runs;
      })
      .toBeGreaterThan(1);
    finish();
    await leader.close();
  });

  test('a task that throws runs again the next time', async () => {
    const { leader } = replica();
    let runs = 0;
    leader.register({
      id: 'throws',
      everyMs: 1_000,
      run: async () => {
        runs += 1;
        throw new Error('broken');
      },
    });
    await leader.runNow('throws');
    await leader.runNow('throws');
    expect(runs).toBe(2);
    await leader.close();
  });

  test('a task that is unknown or registered twice is a mistake', async () => {
    const { leader } = replica();
    leader.register({ id: 'twice', everyMs: 1_000, run: async () => undefined });
    expect(() => leader.register({ id: 'twice', everyMs: 1_000, run: async () => undefined })).toThrow();
    await expect(leader.runNow('nowhere')).rejects.toThrow();
    await leader.close();
  });

  describe('between replicas', () => {
    // On SQLite a starting service takes the lease at once, because a stored lease can only be left from a crash.
    const shared = databases.dialect === 'postgres';

    test('only the holder runs, until it gives the lease back', async () => {
      const first = replica();
      const second = replica();
      const ran: string[] = [];
      first.leader.register({ id: 'shared', everyMs: 1_000, run: async () => void ran.push('first') });
      second.leader.register({ id: 'shared', everyMs: 1_000, run: async () => void ran.push('second') });
      await first.leader.runNow('shared');
      await second.leader.runNow('shared');
      expect(ran).toEqual(shared ? ['first'] : ['first', 'second']);
      await first.leader.close();
      await second.leader.runNow('shared');
      expect(ran.at(-1)).toBe('second');
      await second.leader.close();
    });

    test('a task that needs the bus moves to another replica while its holder is cut off', async () => {
      const first = replica();
      const second = replica();
      const ran: string[] = [];
      const task = { id: 'needs bus', everyMs: 1_000, needsBus: true } as const;
      first.leader.register({ ...task, run: async () => void ran.push('first') });
      second.leader.register({ ...task, run: async () => void ran.push('second') });
      await first.leader.runNow(task.id);
      first.bus.connected = false;
      for (const { clock } of [first, second]) await clock.pass(30_000);
      await first.leader.runNow(task.id);
      expect([first.leader.held(), ran]).toEqual([[], ['first']]);
      await second.leader.runNow(task.id);
      first.bus.connected = true;
      await first.leader.runNow(task.id);
      expect(ran).toEqual(shared ? ['first', 'second'] : ['first', 'second', 'first']);
      await Promise.all([first.leader.close(), second.leader.close()]);
    });

    test('a lease that is kept between runs expires while the bus is away', async () => {
      const { bus, clock, leader } = replica();
      const id = 'kept with bus';
      const kept = { keepsLease: { lost: () => undefined }, run: async () => undefined };
      leader.register({ id, everyMs: 3_600_000, needsBus: true, ...kept });
      leader.start();
      await leader.runNow(id);
      expect(leader.held()).toEqual([id]);
      bus.connected = false;
      await clock.pass(31_000);
      expect(leader.held()).toEqual([]);
      await leader.close();
    });

    test('a lease that a clock far ahead wrote before its process was killed does not last until then', async () => {
      const ahead = new ManualClock();
      ahead.jump(365 * 24 * 60 * 60 * 1_000);
      const killed = replica(ahead);
      killed.leader.register({ id: 'ahead', everyMs: 1_000, run: async () => undefined });
      await killed.leader.runNow('ahead');
      const next = replica();
      let runs = 0;
      next.leader.register({
        id: 'ahead',
        everyMs: 1_000,
        run: async () => {
          runs += 1;
        },
      });
      await next.leader.runNow('ahead');
      expect(runs).toBe(1);
      await next.leader.close();
    });

    test('a holder that slept past its lease changes nothing any more', async () => {
      const first = replica();
      const second = replica();
      let wake: () => void = () => undefined;
      const asleep = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const outcome: unknown[] = [];
      first.leader.register({
        id: 'sleeper',
        everyMs: 1_000,
        run: async (fence) => {
          await asleep;
          await database
            .transaction(async (tx) => {
              await fence.check(tx);
              outcome.push('wrote');
            })
            .catch((error: unknown) => {
              outcome.push(error instanceof LeaseLost);
              throw error;
            });
        },
      });
      second.leader.register({
        id: 'sleeper',
        everyMs: 1_000,
        run: async (fence) => database.transaction(fence.check),
      });
      const late = first.leader.runNow('sleeper');
      await expect
        .poll(() =>
          database.db.selectFrom('leases').select('fence').where('name', '=', 'sleeper').executeTakeFirst(),
        )
        .toBeDefined();
      await second.clock.pass(60_000);
      await second.leader.runNow('sleeper');
      wake();
      await late;
      expect(outcome).toEqual([true]);
      await Promise.all([first.leader.close(), second.leader.close()]);
    });
  });
});
