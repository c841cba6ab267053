import { execFileSync } from 'node:child_process';
import { randomUUID, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { type Clock, silentLogger, systemRandom } from '@footlight/platform';
import { fastClock, ManualClock } from '@footlight/platform/testing';
import type { Capacity, HeldSession } from '@footlight/protocol/agent';
import { FakeControl, type FakeControlOptions } from '@footlight/test-harness/fake-control';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ControlLink, type LinkHandler, type LinkOptions, NotEnrolledError } from './control-link.ts';
import { IdentityStore } from './identity.ts';

const CAPACITY: Capacity = {
  type: 'capacity',
  detection: 'unavailable',
  host: { cpu_cores: 1, mem_mb: 1 },
  gpus: [],
};

/**
 * Makes time pass faster, so that the deadlines of the protocol take seconds. Only a link without an answer reaches
 * them.
 */
const quick = fastClock(10);
/** An even faster clock for tests of links without an answer: the deadlines take tenths of a second. */
const quicker = fastClock(100);

let dir: string;
let control: FakeControl;
let links: ControlLink[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-link-'));
  links = [];
});

afterEach(async () => {
  for (const link of links) await link.stop();
  await control?.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Seen {
  commands: string[];
  seen: number[];
  ups: number;
  downs: number;
}

async function connect(
  standIn: FakeControlOptions = {},
  options: Partial<LinkOptions> = {},
  handler: Partial<LinkHandler> = {},
  clock: Clock = quick,
): Promise<{ link: ControlLink; heard: Seen }> {
  control = await FakeControl.listen(standIn);
  return dialOnly(options, handler, clock);
}

async function dialOnly(
  options: Partial<LinkOptions> = {},
  handler: Partial<LinkHandler> = {},
  clock: Clock = quick,
) {
  const heard: Seen = { commands: [], seen: [], ups: 0, downs: 0 };
  const link = new ControlLink(
    {
      controlUrls: [control.url],
      controlCa: null,
      controlFingerprint: null,
      enrollmentToken: 'a-token-of-the-tests',
      nodeName: 'node-1',
      bootId: randomUUID(),
      agentVersion: '0',
      ...options,
    },
    {
      clock,
      random: systemRandom,
      logger: silentLogger(),
      identity: new IdentityStore(dir, systemRandom),
      handler: {
        register: () => ({ features: [], sessions: [] }),
        capacity: async () => CAPACITY,
        heartbeat: () => ({ running_sessions: [] }),
        command: async (command) => {
          heard.commands.push(command.type);
          return { ok: true };
        },
        signaling: () => undefined,
        registered: () => undefined,
        seen: (seq) => void heard.seen.push(seq),
        linkReady: () => void heard.ups++,
        beforeDial: async () => undefined,
        linkLost: () => void heard.downs++,
        ...handler,
      },
      // Every name has two addresses. The fake control plane listens at one of them; the other refuses connections.
      resolve: (_name, _options, done) =>
        done(
          null,
          ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
        ),
    },
  );
  links.push(link);
  await link.start();
  return { link, heard };
}

const report = (detail: string) => ({
  type: 'session_state' as const,
  session_id: '00000000-0000-4000-8000-000000000001',
  ts: 1,
  state: 'running' as const,
  detail,
});

describe('enrollment', () => {
  test('without a secret and a token nothing is dialled', async () => {
    control = await FakeControl.listen();
    await expect(dialOnly({ enrollmentToken: null })).rejects.toThrow(NotEnrolledError);
    expect(control.dials).toEqual([]);
  });

  test('an unreachable replica is skipped for the next one', async () => {
    control = await FakeControl.listen();
    const gone = new URL('http://127.0.0.1:1');
    const { heard } = await dialOnly({ controlUrls: [gone, control.url, gone] });
    await expect.poll(() => heard.ups).toBe(1);
  });

  test('a replica that is unreachable is skipped for the next address of the name, also by HTTP calls', async () => {
    control = await FakeControl.listen({ answers: () => ({ status: 404, body: {} }) });
    const named = new URL(`http://replicas.example:${control.port}`);
    const { link, heard } = await dialOnly({ controlUrls: [named] });
    await expect.poll(() => heard.ups).toBe(1);
    for (let n = 0; n < 10; n += 1)
      expect(await link.call({ method: 'GET', path: '/unknown' })).toMatchObject({ status: 404 });
    const file = { path: '/unknown', mediaType: 'text/plain', bytes: 1, body: Readable.from(['1']) };
    await expect(link.putFile(file)).rejects.toThrow('answered 404');
  });

  test('the secret is on disk, readable only by the agent, before capacity is sent', async () => {
    let stored = '';
    await connect(
      {},
      {},
      {
        capacity: async () => {
          stored = readFileSync(join(dir, 'node.json'), 'utf8');
          return CAPACITY;
        },
      },
    );
    await control.wait('capacity');
    expect(JSON.parse(stored)).toEqual({
      node_name: 'node-1',
      host_id: control.hostId,
      node_secret: 'a-secret-for-tests',
    });
    expect(statSync(join(dir, 'node.json')).mode & 0o777).toBe(0o600);
    expect(control.dials[0]).toMatchObject({
      authorization: 'Enroll a-token-of-the-tests',
      'x-service-node': 'node-1',
      'x-service-enroll': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('the same enroll-id is sent until it is accepted, then the secret', async () => {
    await connect({ refuse: (_headers, dial) => (dial < 3 ? { status: 401, message: 'no' } : null) });
    await control.wait('heartbeat');
    const ids = control.dials.map((headers) => headers['x-service-enroll']);
    expect(new Set(ids).size).toBe(1);
    control.cut();
    await control.until(() => control.dials.length === 4);
    expect(control.dials[3]).toMatchObject({ authorization: 'Bearer a-secret-for-tests' });
    expect(control.dials[3]).not.toHaveProperty('x-service-enroll');
  });

  test('a refused secret is kept; after three refusals the token is tried too', async () => {
    await new IdentityStore(dir, systemRandom).save({
      node_name: 'node-1',
      host_id: 'h',
      node_secret: 'old',
    });
    await connect({
      refuse: (headers) => (headers.authorization === 'Bearer old' ? { status: 401, message: 'no' } : null),
    });
    await control.wait('heartbeat');
    expect(control.dials.map(({ authorization }) => authorization?.split(' ')[0])).toEqual([
      'Bearer',
      'Bearer',
      'Bearer',
      'Enroll',
    ]);
  });
});

describe('a registered link', () => {
  test('register, then capacity, then heartbeats; config_update is acked at once', async () => {
    const { heard } = await connect();
    await control.wait('heartbeat');
    const types = control.messages.map(({ type }) => type).filter((type) => type !== 'ack');
    expect(types.slice(0, 3)).toEqual(['register', 'capacity', 'heartbeat']);
    expect(await control.wait('ack')).toMatchObject({ ok: true });
    expect(heard.commands).toEqual(['config_update']);
    await control.wait('heartbeat', ({ clock }) => clock !== undefined);
  });

  test('a repeated command gets its ack again and has one effect', async () => {
    const { heard } = await connect();
    await control.wait('heartbeat');
    const id = randomUUID();
    const stop = { type: 'session_stop' as const, session_id: randomUUID(), reason: 'admin' as const };
    await control.command(stop, id);
    await control.command(stop, id);
    expect(heard.commands).toEqual(['config_update', 'session_stop']);
  });

  test('an unknown command and a malformed one are answered by their id; twenty malformed ones close 4400', async () => {
    await connect();
    await control.wait('heartbeat');
    const [unknown, malformed] = [randomUUID(), randomUUID()];
    control.sendText(JSON.stringify({ type: 'session_dance', id: unknown }));
    control.sendText(JSON.stringify({ type: 'session_start', id: malformed }));
    expect(await control.wait('ack', ({ id }) => id === unknown)).toMatchObject({ code: 'unknown_command' });
    expect(await control.wait('ack', ({ id }) => id === malformed)).toMatchObject({ code: 'invalid' });
    for (let count = 0; count < 19; count++) control.sendText('{');
    await control.until(() => control.closes.includes(4400));
  });

  test('reports of an outage are sent after the next capacity, in order, and not again once seen', async () => {
    const { link, heard } = await connect({ autoSeen: false });
    await control.wait('heartbeat');
    link.report(report('one'));
    await control.wait('session_state', ({ detail }) => detail === 'one');
    control.cut();
    await control.until(() => heard.downs === 1 || undefined);
    link.report(report('two'));
    const from = control.messages.length;
    await control.wait('session_state', ({ detail }) => detail === 'two', from);
    const after = control.messages
      .slice(from)
      .map((message) => ('seq' in message ? message.seq : message.type));
    expect(after.filter((entry) => entry === 'capacity' || typeof entry === 'number')).toEqual([
      'capacity',
      1,
      2,
    ]);
    control.send({ type: 'seen', seq: 2 });
    await control.until(() => heard.seen.includes(2));
  });

  test.each([
    ['the last report is confirmed', () => control.send({ type: 'seen', seq: 2 })],
    ['the connection is lost', () => control.cut()],
  ])('a flush ends when %s', async (_what, happens) => {
    const { link, heard } = await connect({ autoSeen: false }, {}, {}, new ManualClock());
    await control.wait('heartbeat');
    for (const detail of ['one', 'two']) link.report(report(detail));
    let isOver = false;
    const flushed = link.flush(60_000).then(() => {
      isOver = true;
    });
    control.send({ type: 'seen', seq: 1 });
    await expect.poll(() => heard.seen).toContain(1);
    expect(isOver).toBe(false);
    happens();
    await flushed;
  });

  test('a flush ends at its time limit, and at once without a report', async () => {
    const clock = new ManualClock();
    const { link } = await connect({ autoSeen: false }, {}, {}, clock);
    await control.wait('heartbeat');
    await link.flush(60_000);
    link.report(report('one'));
    const flushed = link.flush(2_000);
    clock.advance(2_000);
    await flushed;
  });

  test('reports that the control plane has already seen are not sent again', async () => {
    const { link } = await connect({ autoSeen: false, registered: () => ({ last_seq: 1 }) });
    link.report(report('known'));
    link.report(report('new'));
    await control.wait('session_state', ({ detail }) => detail === 'new');
    expect(control.messages.filter(({ type }) => type === 'session_state')).toHaveLength(1);
  });

  test('sessions are listed as they are at each registration', async () => {
    const held: HeldSession[] = [];
    await connect({}, {}, { register: () => ({ features: [], sessions: [...held] }) });
    await control.wait('heartbeat');
    held.push({
      session_id: randomUUID(),
      state: 'running',
      app_id: randomUUID(),
      started_at: 5,
      viewer: true,
    });
    const from = control.messages.length;
    control.cut();
    expect((await control.wait('register', () => true, from)).sessions).toEqual(held);
  });
});

describe('a backlog', () => {
  const event = (ts: number) => ({
    type: 'session_trace_event' as const,
    session_id: '00000000-0000-4000-8000-000000000001',
    ts,
    event: 'app.exited' as const,
    payload: {},
  });

  test('is sent within the control plane’s rate limit: states in order, then samples, then events, without loss', async () => {
    const clock = new ManualClock();
    control = await FakeControl.listen({ autoSeen: false });
    const { link } = await dialOnly({}, {}, clock);
    for (let count = 0; count < 200; count++) link.event(event(count));
    link.metrics({
      type: 'session_metrics',
      session_id: event(0).session_id,
      ts: 1,
      window_ms: 5_000,
      metrics: {},
    });
    for (let count = 0; count < 1_900; count++) link.report(report(`${count}`));
    const paced = () => control.messages.filter(({ type }) => type.startsWith('session_'));
    await control.wait('heartbeat');
    // The ack of a command arrives after all messages that were sent before it.
    const settled = () =>
      control.command({ type: 'session_stop', session_id: randomUUID(), reason: 'admin' });
    await settled();
    const atOnce = paced().length;
    expect(atOnce).toBeGreaterThan(100);
    expect(atOnce).toBeLessThanOrEqual(1_000);
    for (let seconds = 1; paced().length < 2_101 && seconds < 10; seconds++) {
      const before = paced().length;
      clock.advance(1_000);
      await settled();
      expect(paced().length - before).toBeLessThanOrEqual(400);
    }
    const order = (paced() as { seq?: number; ts: number }[]).map(({ seq, ts }) => seq ?? ts);
    expect(order).toEqual([
      ...Array.from({ length: 1_900 }, (_, index) => index + 1),
      1,
      ...Array.from({ length: 200 }, (_, index) => index),
    ]);
    expect(paced()[1_900]).toMatchObject({ type: 'session_metrics', late: true });
    // The queue is empty now, so the link sends this message at once.
    link.event(event(777));
    await control.wait('session_trace_event', ({ ts }) => ts === 777);
  });
});

describe('deadlines and closes', () => {
  test('no registered within 15 s closes 4408 and dials again', async () => {
    await connect({ mute: true }, {}, {}, quicker);
    await control.until(() => control.closes.includes(4408));
    await control.until(() => control.dials.length > 1);
  });

  test('registered without a config_update within 15 s closes 4408', async () => {
    await connect({ withoutConfig: true }, {}, {}, quicker);
    await control.until(() => control.closes.includes(4408));
  });

  test('silence for 20 s, as on a half-open link, closes 4408; then it dials again, once', async () => {
    await connect({ registered: () => ({ heartbeat_interval_ms: 3_600_000 }) }, {}, {}, quicker);
    await control.until(() => control.closes.includes(4408));
    await control.until(() => control.messages.filter(({ type }) => type === 'register').length === 2);
    expect([control.dials.length, control.closes]).toEqual([2, [4408]]);
  });

  test('anything but registered in the handshake closes 4400; a binary frame closes 1003', async () => {
    await connect({ mute: true });
    await control.wait('register');
    control.sendText('{"type":"seen","seq":1}');
    await control.until(() => control.closes.includes(4400));
    control.options.mute = false;
    await control.wait('heartbeat');
    control.sendText(Buffer.from([1, 2, 3]));
    await control.until(() => control.closes.includes(1003));
  });

  test('an upgrade refused with a Retry-After is tried again after that time', async () => {
    const dialledAtMs: number[] = [];
    await connect({
      refuse: () => {
        dialledAtMs.push(quick.monotonicMs());
        return dialledAtMs.length > 1 ? null : { status: 503, message: 'later', retryAfterSecs: 30 };
      },
    });
    await control.wait('heartbeat');
    expect(dialledAtMs).toHaveLength(2);
    expect(dialledAtMs[1]! - dialledAtMs[0]!).toBeGreaterThanOrEqual(30_000);
  });

  test('a frame over 1 MiB ends the connection, and the next one works', async () => {
    control = await FakeControl.listen();
    // With the quicker clock the silence limit could close the connection on a busy machine before the frame does.
    await dialOnly({}, {}, quick);
    await control.wait('heartbeat');
    const from = control.messages.length;
    control.sendText(JSON.stringify({ type: 'error', code: 'x', message: 'x'.repeat(1_100_000) }));
    await control.until(() => control.closes.includes(1009));
    await control.wait('heartbeat', () => true, from);
  });
});

test('an identity that cannot be written yet delays the connection, and is not fatal', async () => {
  control = await FakeControl.listen();
  // A directory with the name of the temporary file, so that writing this file fails.
  const obstacle = join(dir, 'enroll-id.tmp');
  mkdirSync(obstacle);
  const putOffMs: number[] = [];
  const clock: Clock = {
    ...quick,
    setTimeout: (work, delayMs) => {
      putOffMs.push(delayMs);
      return quick.setTimeout(work, delayMs);
    },
  };
  const { link } = await dialOnly({}, {}, clock);
  await expect.poll(() => putOffMs.length).toBeGreaterThan(2);
  expect(control.dials).toEqual([]);
  rmdirSync(obstacle);
  await control.wait('heartbeat');
  expect(link.connected).toBe(true);
});

describe('a pinned certificate', () => {
  test('the credential is sent only to a verified control plane', async () => {
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '2',
        ],
        ...['-subj', '/CN=someone', '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    control = await FakeControl.listen();
    const received: string[] = [];
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
      socket.on('data', (data) => received.push(data.toString('latin1')));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const controlUrl = new URL(
      `https://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    );

    let refused = 0;
    server.on('tlsClientError', () => refused++);
    await dialOnly({ controlUrls: [controlUrl], controlFingerprint: Array(32).fill('AB').join(':') });
    // When the second attempt starts, the first one has ended, so a credential that the first attempt sent would have
    // arrived already.
    await expect.poll(() => refused).toBeGreaterThan(1);
    expect(received).toEqual([]);

    const { fingerprint256 } = new X509Certificate(readFileSync(cert));
    await dialOnly({ controlUrls: [controlUrl], controlFingerprint: fingerprint256 });
    await expect.poll(() => received.join('')).toContain('Enroll a-token-of-the-tests');
    for (const link of links.splice(0)) await link.stop();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
});
