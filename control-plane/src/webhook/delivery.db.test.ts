import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger, DAY_MS, systemRandom } from '@footlight/platform';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createActivity } from '../activity/index.ts';
import { createInProcessBus } from '../platform/bus/in-process.ts';
import { loadConfig } from '../platform/config/config.ts';
import { type Database, type DatabaseTarget, openDatabase } from '../platform/database/index.ts';
import { createLeader } from '../platform/leader.ts';
import { describeDatabases, ManualClock, takeOverLease } from '../testing/index.ts';
import { makeOperatorPair } from '../testing/operator-pair.ts';
import { createWebhook } from './index.ts';
import { DELIVERY } from './service.ts';
import { deleteUpTo, findSurplus } from './store.ts';
import { type Receiver, startReceiver, WEBHOOK_SECRET } from './testing/receiver.ts';

/** Longer than the longest wait between two attempts. */
const LONGEST_WAIT_MS = 11 * 60_000;

describeDatabases('the delivery of events', (databases) => {
  let target: DatabaseTarget;
  let database: Database;
  let clock: ManualClock;
  let receiver: Receiver;
  let log: string[];
  let one: ReturnType<typeof replica>;
  const closers: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    log = [];
    clock = new ManualClock();
    target = await databases.fresh();
    database = await openDatabase(target, { logger: createLogger('silent') });
    receiver = await startReceiver();
    one = replica(receiver.url);
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    await receiver.close();
    await database.close();
    expect(log.join('')).not.toMatch(/address-token|webhook-secret/);
  });

  /** One replica of the control plane: its writer of activity, and its webhook. */
  function replica(url: string) {
    const logger = createLogger('debug', { write: (line) => void log.push(line) });
    const config = loadConfig({ SERVICE_WEBHOOK_URL: url, SERVICE_WEBHOOK_SECRET: WEBHOOK_SECRET }).webhook;
    if (config === null) throw new Error('no webhook');
    const bus = createInProcessBus({ clock, logger });
    const leader = createLeader({ database, clock, random: systemRandom, logger, bus });
    const webhook = createWebhook({ clock, database, leader, logger, random: systemRandom }, config);
    const activity = createActivity({ database, clock, logger, webhook });
    const close = async () => {
      webhook.close();
      await leader.close();
    };
    closers.push(close);
    return { activity, webhook, deliver: () => leader.runNow(DELIVERY), close };
  }

  const write = async (...names: string[]) => {
    for (const name of names) await one.activity.record(null, 'app.create', name, { name });
  };
  const targets = () => receiver.received.map(({ body }) => body.data.target_id);
  const waiting = async () => (await one.webhook.status()).waiting;
  const logged = (event: string) => log.filter((line) => line.includes(event));

  test('sends each entry of the activity log once, in order, signed', async () => {
    await one.activity.record('ada', 'host.drain', 'host-1', { force: true });
    await write('b', 'c');
    await one.deliver();
    await one.deliver();
    expect(targets()).toEqual(['host-1', 'b', 'c']);
    expect(receiver.forged).toBe(0);
    const entry = await database.db.selectFrom('activity').select('id').orderBy('id').executeTakeFirst();
    expect(receiver.received[0]).toMatchObject({
      id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
      timestamp: Math.floor(clock.nowMs() / 1_000),
      body: {
        type: 'activity.host.drain',
        timestamp: new Date(clock.nowMs()).toISOString(),
        data: {
          ...{ id: entry?.id, actor_user_id: 'ada', action: 'host.drain', severity: 'warn' },
          ...{ target_type: 'host', target_id: 'host-1', details: { force: true } },
          created_at: new Date(clock.nowMs()).toISOString(),
        },
      },
    });
    expect(Object.keys(receiver.received[0]?.body.data)).not.toContain('actor_username');
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(3);
    expect(await one.webhook.status()).toEqual({ configured: true, waiting: 0, oldest_at: null });
  });

  test('is retried with the same id and body after errors, and then loses nothing', async () => {
    const statuses = [500, 503, 404, 302];
    receiver.answer = (response) => void response.writeHead(statuses.shift() ?? 204).end();
    await write('a', 'b');
    await one.deliver();
    expect(await waiting()).toBe(2);
    // The wait is not over.
    await one.deliver();
    expect(receiver.received).toHaveLength(1);
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await clock.pass(LONGEST_WAIT_MS);
      await one.deliver();
    }
    expect(targets()).toEqual(['a', 'a', 'a', 'a', 'a', 'b']);
    const [first, ...again] = receiver.received.slice(0, 5);
    expect(again.every(({ id, text }) => id === first?.id && text === first?.text)).toBe(true);
    expect(again.at(-1)?.timestamp).toBeGreaterThan(first?.timestamp ?? 0);
    expect(await waiting()).toBe(0);
    expect(logged('webhook.failed')).toHaveLength(4);
    expect(logged('webhook.recovered')).toHaveLength(1);
  });

  describe('a receiver', () => {
    test('that redirects is not followed', async () => {
      const inner = createServer((_request, response) => {
        hits += 1;
        response.end();
      });
      let hits = 0;
      await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
      closers.push(() => new Promise((resolve) => inner.close(resolve)));
      const { port } = inner.address() as AddressInfo;
      await write('a');
      for (const location of [`http://127.0.0.1:${port}/`, 'http://169.254.169.254/latest/meta-data/']) {
        receiver.answer = (response) => void response.writeHead(307, { location }).end();
        await one.deliver();
        await clock.pass(LONGEST_WAIT_MS);
      }
      expect(receiver.received).toHaveLength(2);
      expect(hits).toBe(0);
      expect(logged('webhook.failed')[0]).toContain('its server answered 307');
      expect(await waiting()).toBe(1);
    });

    test('may answer with an endless body, which nobody reads', async () => {
      let ended: Promise<unknown> = Promise.resolve();
      receiver.answer = (response) => {
        ended = new Promise((resolve) => response.once('close', resolve));
        response.writeHead(200);
        const pour = (): void => {
          if (response.destroyed) return;
          if (response.write(Buffer.alloc(16 * 1024))) setImmediate(pour);
          else response.once('drain', pour);
        };
        pour();
      };
      await write('a');
      await one.deliver();
      await ended;
      expect(await waiting()).toBe(0);
    });

    test('that does not answer costs ten seconds, and gets the event again', async () => {
      await write('a');
      const arrived = new Promise<void>((resolve) => {
        receiver.answer = () => resolve();
      });
      const delivery = one.deliver();
      await arrived;
      await clock.pass(10_000);
      await delivery;
      expect(logged('webhook.failed')[0]).toContain('it took too long');
      receiver.answer = null;
      await clock.pass(LONGEST_WAIT_MS);
      await one.deliver();
      expect(targets()).toEqual(['a', 'a']);
      expect(await waiting()).toBe(0);
    });

    test('does not keep the control plane from stopping', async () => {
      await write('a');
      const arrived = new Promise<void>((resolve) => {
        receiver.answer = () => resolve();
      });
      const delivery = one.deliver();
      await arrived;
      await one.close();
      await delivery;
      expect(logged('webhook.failed')).toEqual([]);
    });

    test('with a certificate that nobody signed gets nothing', async () => {
      const secure = await startReceiver(await makeOperatorPair('127.0.0.1'));
      closers.push(() => secure.close());
      await one.close();
      one = replica(secure.url);
      await write('a');
      await one.deliver();
      expect(secure.received).toEqual([]);
      expect(logged('webhook.failed')[0]).toMatch(/its server did not answer as it should \([A-Z_]+\)/);
      expect(await waiting()).toBe(1);
    });
  });

  test('goes on in another process, also if the first one ended before it noted the answer', async () => {
    await write('a', 'b');
    const other = replica(receiver.url);
    // While the receiver answers, another replica takes the lease: the first one cannot delete the event.
    receiver.answer = (response) => {
      receiver.answer = null;
      void takeOverLease(database, DELIVERY).then(() => response.writeHead(204).end());
    };
    await one.deliver();
    await other.deliver();
    expect(targets()).toEqual(['a', 'a', 'b']);
    expect(receiver.received[0]?.id).toBe(receiver.received[1]?.id);
    expect(await waiting()).toBe(0);
  });

  test('is done by one of several replicas', async () => {
    const other = replica(receiver.url);
    await write('a', 'b', 'c');
    await other.activity.record(null, 'app.delete', 'd');
    await Promise.all([one.deliver(), other.deliver()]);
    if (databases.dialect === 'postgres') expect(targets()).toEqual(['a', 'b', 'c', 'd']);
    else expect(new Set(targets())).toEqual(new Set(['a', 'b', 'c', 'd']));
  });

  test('gives up events after three days, and says so', async () => {
    receiver.answer = (response) => void response.writeHead(500).end();
    await write('a', 'b');
    await clock.pass(3 * DAY_MS + 1);
    await write('c');
    receiver.answer = null;
    await one.deliver();
    expect(targets()).toEqual(['c']);
    expect(logged('webhook.dropped')[0]).toContain('"dropped":2');
  });

  test('keeps a bounded number of events, the newest', async () => {
    await write('a', 'b', 'c', 'd');
    const upTo = await findSurplus(database.db, 0, 3);
    expect(upTo).not.toBeNull();
    await database.transaction((tx) => deleteUpTo(tx, upTo ?? 0));
    await one.deliver();
    expect(targets()).toEqual(['b', 'c', 'd']);
    expect(await findSurplus(database.db, 0, 3)).toBeNull();
  });

  test('happens only for what was committed', async () => {
    await expect(
      database.transaction(async (tx) => {
        await one.webhook.add(tx, [{ type: 'session.created', data: {} }]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await one.deliver();
    expect(receiver.received).toEqual([]);
  });
});
