import { createSecretKey } from 'node:crypto';
import { createLogger, systemRandom } from '@footlight/platform';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createInProcessBus } from '../platform/bus/in-process.ts';
import { type Database, type DatabaseTarget, openDatabase } from '../platform/database/index.ts';
import { createLeader, type Leader } from '../platform/leader.ts';
import { describeDatabases, ManualClock } from '../testing/index.ts';
import { verifyLog } from './audit.ts';
import { sealingKeysOf } from './chain.ts';
import { createActivity } from './index.ts';
import { readLog } from './seal-store.ts';
import { registerSealing, SEALING } from './sealing.ts';

const KEYS = { current: { version: 1, key: createSecretKey(Buffer.alloc(32, 7)) }, previous: [] };

describeDatabases('the seals of the activity log', (databases) => {
  let target: DatabaseTarget;
  let clock: ManualClock;
  let database: Database;
  let log: string[];
  const closers: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    log = [];
    clock = new ManualClock();
    target = await databases.fresh();
    database = await openDatabase(target, { logger: createLogger('silent') });
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    await database.close();
  });

  /** One replica: its writer of the log, and its sealing task. */
  async function replica(own = false) {
    const logger = createLogger('debug', { write: (line) => void log.push(line) });
    const opened = own ? await openDatabase(target, { logger }) : database;
    const leader: Leader = createLeader({
      ...{ database: opened, clock, random: systemRandom, logger },
      bus: createInProcessBus({ clock, logger }),
    });
    registerSealing({ clock, database: opened, leader, logger }, KEYS);
    const activity = createActivity({ database: opened, clock, logger, webhook: null });
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await leader.close();
      if (own) await opened.close();
    };
    closers.push(close);
    return { activity, seal: () => leader.runNow(SEALING), close };
  }

  const write = async ({ activity }: Awaited<ReturnType<typeof replica>>, count = 1) => {
    for (let n = 0; n < count; n += 1) await activity.record(null, 'host.drain', `host-${n}`, { n });
  };
  const verify = (remembered: string | null = null) =>
    verifyLog(readLog(database.db), sealingKeysOf(KEYS), remembered);
  const seals = () => database.db.selectFrom('activity_seals').selectAll().orderBy('number').execute();
  const lastLine = async () => (await verify()).lines.at(-1);

  test('cover each entry once, in the order of the ids', async () => {
    const one = await replica();
    await write(one, 3);
    await one.seal();
    await write(one, 2);
    await one.seal();
    await one.seal();
    expect((await seals()).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(await verify()).toMatchObject({ code: 0 });
  });

  test('are one chain, although two replicas write at the same time and take turns in sealing', async () => {
    const replicas =
      databases.dialect === 'postgres' ? [await replica(true), await replica(true)] : [await replica()];
    for (let round = 0; round < 6; round += 1) {
      const writes = replicas.flatMap((each) => Array.from({ length: 10 }, () => write(each, 3)));
      const sealed = replicas.map((each) => each.seal());
      await Promise.all([...writes, ...sealed]);
      // The lease ends, and the other replica takes it.
      await clock.pass(31_000);
      await replicas.at(round % replicas.length)?.seal();
    }
    for (const each of replicas) await each.seal();
    expect(await verify()).toMatchObject({ code: 0 });
    expect((await seals()).length).toBe(6 * replicas.length * 30);
  });

  test.skipIf(databases.dialect === 'sqlite')(
    'wait for an entry that has a lower id and is committed later',
    async () => {
      const one = await replica();
      const slow = new pg.Client({ connectionString: target.dialect === 'postgres' ? target.url : '' });
      await slow.connect();
      try {
        await slow.query('begin');
        await slow.query(
          "insert into activity (action, target_type, details, created_at) values ('app.create', 'app', '{}', 1)",
        );
        await write(one);
        await one.seal();
        expect(await seals()).toEqual([]);
        await slow.query('commit');
      } finally {
        await slow.end();
      }
      await one.seal();
      expect((await seals()).map(({ activity_id }) => activity_id)).toEqual([1, 2]);
      expect(await verify()).toMatchObject({ code: 0 });
    },
  );

  test('of a long log are made over several runs, and a killed process leaves no gap', async () => {
    const one = await replica(databases.dialect === 'postgres');
    const rows = Array.from({ length: 1_201 }, () => ({
      ...{ actor_user_id: null, action: 'app.create', target_type: 'app', target_id: null },
      ...{ details: '{}', created_at: clock.nowMs() },
    }));
    // As an older release writes them.
    await database.db.insertInto('activity').values(rows).execute();
    await one.seal();
    // The state after a process ended between two batches: only the first batch is stored.
    await database.db.deleteFrom('activity_seals').where('number', '>', 500).execute();
    await one.close();
    await clock.pass(31_000);
    const two = await replica();
    await two.seal();
    expect((await seals()).length).toBe(1_201);
    expect(await verify()).toMatchObject({ code: 0 });
  });

  test('that somebody deletes while they are made are not made again', async () => {
    const one = await replica();
    await write(one, 4);
    await one.seal();
    await database.db.deleteFrom('activity_seals').where('number', '>', 2).execute();
    await write(one);
    await one.seal();
    expect(await lastLine()).toMatch(/^tampered: entry 3 .* has no seal, but a later entry has one/);
    expect(log.filter((line) => line.includes('activity.seals_changed'))).toHaveLength(1);
  });

  test('show a removed entry, also the newest one', async () => {
    const one = await replica();
    await write(one, 4);
    await one.seal();
    await database.db.deleteFrom('activity').where('id', '=', 4).execute();
    expect(await lastLine()).toBe('tampered: the newest 1 sealed entries are missing.');
    await database.db.deleteFrom('activity').where('id', '=', 2).execute();
    expect(await lastLine()).toMatch(/^tampered: 1 sealed entries before entry 3 .* are missing\.$/);
  });

  test('tell their head to the log once an hour', async () => {
    const one = await replica();
    const told = () => log.filter((line) => line.includes('activity.sealed'));
    await write(one);
    await one.seal();
    await write(one);
    await one.seal();
    expect(told()).toHaveLength(1);
    expect(told()[0]).toContain((await seals())[0]?.hash);
    await clock.pass(60 * 60_000);
    await write(one);
    await one.seal();
    expect(told()).toHaveLength(2);
    expect(await verify((await seals())[0]?.hash)).toMatchObject({ code: 0 });
  });
});
