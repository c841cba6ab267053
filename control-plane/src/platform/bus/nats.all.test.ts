import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, systemClock, systemRandom } from '@footlight/platform';
import { type NatsServer, startNats, TcpRelay } from '@footlight/test-harness';
import { connect, type NatsConnection, nkeys } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { passed } from '../../testing/replicas.ts';
import { loadCertificate } from '../tls.ts';
import type { Bus } from './bus.ts';
import { createNatsBus, type NatsOptions } from './nats.ts';
import { describeContract, halves, numbers, texts } from './testing/contract.ts';

const TOKEN = 'a-token-of-the-bus';
describe('the bus of several replicas', () => {
  let server: NatsServer;
  const log: string[] = [];
  const logger = createLogger('debug', { write: (line) => void log.push(line) });
  const options = (): NatsOptions => ({ servers: [server.address], auth: { token: TOKEN }, tls: null });
  const open = () => createNatsBus(options(), { clock: systemClock, logger, socketClock: systemClock });
  beforeAll(async () => {
    server = await startNats(['--auth', TOKEN]);
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    log.length = 0;
  });

  describe('like that of one', () => {
    describeContract(async () => {
      const [near, far] = [await open(), await open()];
      return {
        near,
        far,
        log,
        async settled() {
          await passed(near, far);
          await passed(far, near);
        },
        // Nothing to do, because the real clock is used.
        pass: async () => undefined,
        async close() {
          await near.close();
          await far.close();
        },
      };
    });
  });

  describe('whose server fails', () => {
    let near: Bus;
    let far: Bus;
    let heard: unknown[];
    beforeEach(async () => {
      [near, far] = [await open(), await open()];
      heard = [];
    });
    afterEach(async () => {
      await near.close();
      await far.close();
    });

    test('goes on within each replica, gives no answer to the others, and comes back by itself', async () => {
      near.subscribe(numbers, 'a', (payload) => heard.push(['near', payload]));
      far.subscribe(numbers, 'a', (payload) => heard.push(['far', payload]));
      near.respond(halves, 'near', async (payload) => payload / 2);
      far.respond(halves, 'far', async (payload) => payload / 2);
      let gaps = 0;
      near.onGap(() => {
        gaps += 1;
      });
      const closed = near.onGap(() => {
        gaps += 100;
      });
      closed.close();
      await passed(near, far);

      await server.crash();
      await expect.poll(() => log.filter((line) => line.includes('bus.lost')).length).toBe(2);
      expect(near.isConnected()).toBe(false);
      near.publish(numbers, 'a', 1);
      expect(await near.request(halves, 'near', 8, 100)).toEqual({ kind: 'reply', reply: 4 });
      // The result must not be "no_responder", because the host may be connected to the other replica.
      expect(await near.request(halves, 'far', 8, 100)).toEqual({ kind: 'not_sent' });
      expect(heard).toEqual([['near', 1]]);
      expect(gaps).toBe(0);

      await server.start();
      await expect.poll(() => log.filter((line) => line.includes('bus.connected')).length).toBe(2);
      expect([near.isConnected(), gaps]).toEqual([true, 1]);
      await passed(near, far);
      near.publish(numbers, 'a', 2);
      await passed(near, far);
      expect(heard).toEqual([
        ['near', 1],
        ['near', 2],
        ['far', 2],
      ]);
      expect(await near.request(halves, 'far', 8, 1_000)).toEqual({ kind: 'reply', reply: 4 });
    });

    test('after one replica was cut off, all read again, because it could tell the others nothing', async () => {
      const way = await TcpRelay.to(new URL(`nats://${server.address}`));
      const cut = await createNatsBus(
        { ...options(), servers: [`127.0.0.1:${way.port}`] },
        { clock: systemClock, logger, socketClock: systemClock },
      );
      const gaps: string[] = [];
      try {
        near.subscribe(numbers, 'a', (payload) => heard.push(payload));
        await passed(cut, near);
        for (const [name, bus] of Object.entries({ near, far, cut })) bus.onGap(() => gaps.push(name));
        way.mode = 'refuse';
        way.cut();
        await expect.poll(() => log.some((line) => line.includes('bus.lost'))).toBe(true);
        cut.publish(numbers, 'a', 1);
        way.mode = 'pass';
        await expect.poll(() => gaps.toSorted(), { timeout: 20_000 }).toEqual(['cut', 'far', 'near']);
        expect(heard).toEqual([]);
      } finally {
        await cut.close();
        way.close();
      }
    });

    test('messages of others are received separately from those of this replica', async () => {
      const ofAll: number[] = [];
      near.subscribeOthers(numbers, (payload, key) => heard.push([payload, key]));
      const closed = near.subscribeOthers(numbers, () => heard.push('closed'));
      near.subscribe(numbers, 'a', (payload) => ofAll.push(payload));
      closed.close();
      await passed(far, near);
      near.publish(numbers, 'a', 1);
      far.publish(numbers, 'a', 2);
      far.publish(numbers, 'b', 3);
      await passed(far, near);
      expect(ofAll).toEqual([1, 2]);
      expect(heard).toEqual([
        [2, 'a'],
        [3, 'b'],
      ]);
    });

    test('a suspended server delays a request by its time limit and no more', async () => {
      far.respond(halves, 'far', async (payload) => payload / 2);
      await passed(near, far);
      await server.pause();
      try {
        expect(await near.request(halves, 'far', 8, 200)).toEqual({ kind: 'no_answer' });
      } finally {
        server.resume();
      }
      await passed(near, far);
      expect(await near.request(halves, 'far', 8, 5_000)).toEqual({ kind: 'reply', reply: 4 });
    });

    test('a bus that is closed waits for an answer, and for that of the request that it leads to', async () => {
      let asked = 0;
      let goOn = () => {};
      const held = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      far.respond(halves, 'far', async (payload) => {
        asked += 1;
        await held;
        return payload / 2;
      });
      await passed(near, far);
      const second = near.request(halves, 'far', 8, 5_000).then(() => near.request(halves, 'far', 6, 5_000));
      await expect.poll(() => asked).toBe(1);
      const closing = near.close();
      goOn();
      expect(await second).toEqual({ kind: 'reply', reply: 3 });
      await closing;
    });

    test('a bus that is closed while its server is away ends at once', async () => {
      await server.crash();
      await expect.poll(() => log.filter((line) => line.includes('bus.lost')).length).toBe(2);
      await near.close();
      await server.start();
      await expect.poll(() => log.filter((line) => line.includes('bus.connected')).length).toBe(1);
    });
  });

  describe('with a stranger on the server', () => {
    let stranger: NatsConnection;
    let bus: Bus;
    beforeEach(async () => {
      stranger = await connect({ servers: server.address, token: TOKEN });
      bus = await open();
    });
    afterEach(async () => {
      await stranger.close();
      await bus.close();
    });

    test('drops messages that do not match the schema, in a bounded number of lines without the message', async () => {
      const heard: unknown[] = [];
      bus.subscribe(numbers, null, (payload) => heard.push(payload));
      bus.respond(halves, 'a', async (payload) => payload / 2);
      await expect.poll(async () => (await bus.request(halves, 'a', 2, 1_000)).kind).toBe('reply');
      await expect
        .poll(async () => {
          stranger.publish('footlight.test.numbers.b', '7');
          await stranger.flush();
          return heard.length;
        })
        .toBeGreaterThan(0);
      heard.length = 0;
      for (let n = 0; n < 100; n += 1) stranger.publish('footlight.test.numbers.a', '"a secret"');
      stranger.publish('footlight.test.numbers.a', '{');
      stranger.publish('footlight.test.numbers.a', '');
      const refused = await stranger.request('footlight.test.halves.a', '"a secret"', { timeout: 60_000 });
      expect(refused.data).toHaveLength(0);
      stranger.publish('footlight.test.numbers.a', '8');
      await expect.poll(() => heard.at(-1)).toBe(8);
      expect(heard.filter((value) => typeof value !== 'number')).toEqual([]);
      const lines = log.filter((line) => line.includes('bus.malformed'));
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.length).toBeLessThanOrEqual(10);
      expect(log.join()).not.toContain('a secret');
    });

    test('reads a text in the JSON, as replicas of an older release send it', async () => {
      const heard: unknown[] = [];
      bus.subscribe(texts, 'a', (payload) => heard.push(payload));
      await expect
        .poll(async () => {
          stranger.publish('footlight.test.texts.a', JSON.stringify({ n: 1, text: 'two\nlines' }));
          await stranger.flush();
          return heard[0];
        })
        .toEqual({ n: 1, text: 'two\nlines' });
    });

    test('an answer that does not match the schema counts as none', async () => {
      stranger.subscribe('footlight.test.halves.a', {
        callback: (_error, message) => void message.respond('"half"'),
      });
      await stranger.flush();
      expect(await bus.request(halves, 'a', 1, 5_000)).toEqual({ kind: 'no_answer' });
    });

    test('a message that the server would refuse is not sent, and an error is reported', async () => {
      const words = { name: 'test.words', payload: z.string(), reply: z.string() };
      const large = 'x'.repeat(2 * 1024 * 1024);
      bus.publish(words, 'a', large);
      expect(log.join()).toContain('bus.not_sent');
      stranger.subscribe('footlight.test.words.a', {
        callback: (_error, message) => void message.respond('"x"'),
      });
      await stranger.flush();
      expect(await bus.request(words, 'a', large, 5_000)).toEqual({ kind: 'no_answer' });
      expect(await bus.request(words, 'a', 'small', 5_000)).toEqual({ kind: 'reply', reply: 'x' });
    });
  });

  test('a wrong token and an absent server are named in a sentence, without the token', async () => {
    const wrong = { ...options(), auth: { token: 'another-token' } };
    const refused = createNatsBus(wrong, { clock: systemClock, logger, socketClock: systemClock }).catch(
      (error: Error) => error.message,
    );
    expect(await refused).toMatch(/^The bus at 127\.0\.0\.1:\d+ cannot be used: .*authorization.*\.$/i);
    expect(await refused).not.toContain('another-token');
    await server.stop();
    const absent = createNatsBus(options(), { clock: systemClock, logger, socketClock: systemClock }).catch(
      (error: Error) => error.message,
    );
    expect(await absent).toMatch(/^The bus at 127\.0\.0\.1:\d+ cannot be used: /);
    await server.start();
  });
});

describe('a bus with TLS and the key of a user', () => {
  const logger = createLogger('silent');
  const user = nkeys.createUser();
  const seed = Buffer.from(user.getSeed()).toString();
  let folder: string;
  let server: NatsServer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'footlight-nats-'));
    const pair = await loadCertificate(
      { listen: { host: null, port: 0 }, dir: folder, provided: null, extraNames: [], acme: null },
      { clock: systemClock, random: systemRandom, logger },
    );
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const config = write('nats.conf', `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`);
    write('ca.pem', pair.cert);
    write('seed', `${seed}\n`);
    write('other-seed', Buffer.from(nkeys.createUser().getSeed()).toString());
    write('no-seed', 'a password');
    const tls = ['--tls', '--tlscert', join(folder, 'ca.pem'), '--tlskey', write('key.pem', pair.key)];
    server = await startNats(['-c', config, ...tls]);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (key: string, ca: string | null = join(folder, 'ca.pem')) =>
    createNatsBus(
      { servers: [server.address], auth: { nkeyFile: join(folder, key) }, tls: { ca } },
      { clock: systemClock, logger, socketClock: systemClock },
    );

  test('serves replicas that have the key', async () => {
    const [near, far] = [await open('seed'), await open('seed')];
    far.respond(halves, 'a', async (payload) => payload / 2);
    await passed(near, far);
    expect(await near.request(halves, 'a', 8, 5_000)).toEqual({ kind: 'reply', reply: 4 });
    await near.close();
    await far.close();
  });

  test.each([
    ['another key', () => open('other-seed'), /authorization/i],
    ['a file that holds none', () => open('no-seed'), /no-seed holds no seed of a user key \(SU…\)\.$/],
    ['a file that is missing', () => open('nothing'), /ENOENT/],
    ['a server whose certificate nobody signed', () => open('seed', null), /certificate/i],
  ])('refuses %s with the reason, and without a secret', async (_what, opened, why) => {
    const refused = await opened().catch((error: Error) => error.message);
    expect(refused).toMatch(/^The bus at 127\.0\.0\.1:\d+ cannot be used: /);
    expect(refused).toMatch(why);
    expect(refused).not.toContain('a password');
  });
});
