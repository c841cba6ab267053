import { EventEmitter } from 'node:events';
import { createLogger } from '@footlight/platform';
import type { Hello, ServiceMessage } from '@footlight/protocol/signal';
import { describe, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { hostSubjects } from '../fleet/index.ts';
import { createInProcessBus } from '../platform/bus/in-process.ts';
import { withOtherReplicas } from '../platform/bus/testing/other-replicas.ts';
import { unavailable } from '../platform/errors.ts';
import { ManualClock } from '../testing/index.ts';
import type { MintedIceServers } from './ice-servers.ts';
import { type SignalToViewer, sessionSubjects, type ViewedSession } from './subjects.ts';
import type { Admission, AdmittedGuest } from './tokens.ts';
import { ViewerSocket } from './viewer-socket.ts';

const SESSION: ViewedSession = {
  id: '11111111-1111-4111-8111-111111111111',
  host_id: 'host',
  state: 'running',
  state_detail: null,
  end_reason: null,
  relay_ready: true,
  app_launch_state: undefined,
  stream: { codec: 'h264', width: 1280, height: 720, fps: 30, mic: false, recording: false },
};
const hello: Hello = {
  type: 'hello',
  protocol: 1,
  client_id: '22222222-2222-4222-8222-222222222222',
  client: { kind: 'browser' },
  codecs: [],
};

/** A socket whose peer reads and answers only when the test requests it. */
class StuckSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: ServiceMessage[] = [];
  closedWith: number | null = null;
  terminated = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as ServiceMessage);
    this.bufferedAmount += text.length;
  }
  ping(): void {}
  close(code: number): void {
    this.closedWith ??= code;
    this.readyState = 2;
  }
  terminate(): void {
    this.terminated = true;
  }
}

interface WorldOptions {
  consume?: () => Promise<Admission | null>;
  guest?: AdmittedGuest;
  isAdmitted?: () => Promise<boolean>;
  relay?: 'open' | 'full' | 'gone' | 'silent';
  view?: () => Promise<ViewedSession | undefined>;
  mintIceServers?: (holderId: string, endsAtMs: number | null) => MintedIceServers;
}

async function world(options: WorldOptions = {}) {
  const clock = new ManualClock();
  const logger = createLogger('silent', { write: () => {} });
  const { bus, gap, listeners } = withOtherReplicas(createInProcessBus({ clock, logger }));
  const socket = new StuckSocket();
  const relay = { is: options.relay ?? 'open' };
  const toAgent: { type: string }[] = [];
  const released = { handshakes: 0, sockets: 0 };
  const viewer = new ViewerSocket(
    { clock, bus, logger },
    {
      agents: {
        link: async () => {
          if (relay.is === 'silent') throw unavailable('The host cannot be reached right now.');
          return relay.is === 'gone' ? null : { features: [], registeredMs: 0, silentMs: 0 };
        },
        signal: (_hostId, { session_id, conn, text, mustSend }) => {
          const goesOut = relay.is === 'open' || (relay.is === 'full' && mustSend === true);
          if (goesOut) toAgent.push(JSON.parse(text));
          else bus.publish(hostSubjects.signalRefused, session_id, { conn });
        },
      },
      sessions: { view: options.view ?? (async () => SESSION) },
      mintIceServers: options.mintIceServers ?? (() => ({ iceServers: [], ttlSecs: null })),
      consumeToken:
        options.consume ?? (async () => ({ sessionId: SESSION.id, guest: options.guest ?? null })),
      isAdmitted: options.isAdmitted ?? (async () => true),
      tokenFailed: () => {},
      nextConn: () => 1,
      handshakeDone: () => {
        released.handshakes += 1;
      },
      closed: () => {
        released.sockets += 1;
      },
    },
    socket as unknown as WebSocket,
  );
  viewer.start('token');
  await clock.pass(0);
  const say = async (message: unknown) => {
    socket.emit('message', Buffer.from(JSON.stringify(message)), false);
    await clock.pass(0);
  };
  return { clock, bus, gap, listeners, socket, relay, toAgent, released, say };
}

const offer = (sdp: string): SignalToViewer => ({
  conn: 1,
  text: JSON.stringify({ type: 'offer', pc_id: SESSION.id, sdp, reason: 'first' }),
  last: null,
});

test('ready and attach have ICE servers of their own, made when each is sent', async () => {
  let made = 0;
  let view: ViewedSession = { ...SESSION, state: 'starting', relay_ready: false };
  const { bus, clock, socket, toAgent, say } = await world({
    view: async () => view,
    mintIceServers: (sessionId) => {
      made += 1;
      const username = `${made}:${sessionId}`;
      return { iceServers: [{ urls: ['turn:a'], username, credential: 'c' }], ttlSecs: 600 };
    },
  });
  await say(hello);
  const servers = (count: number) => [
    { urls: ['turn:a'], username: `${count}:${SESSION.id}`, credential: 'c' },
  ];
  expect(socket.sent.at(-1)).toMatchObject({ type: 'ready', ice_servers: servers(1), ice_ttl_secs: 600 });
  view = SESSION;
  bus.publish(sessionSubjects.changed, SESSION.id, {});
  await clock.pass(0);
  expect(toAgent).toMatchObject([{ type: 'attach', ice_servers: servers(2) }]);
});

describe('queues are bounded', () => {
  test('a page that does not read 1 MiB is closed with 4429 and detached', async () => {
    const { bus, clock, socket, toAgent, say } = await world();
    await say(hello);
    for (let count = 0; count < 20; count += 1)
      bus.publish(sessionSubjects.signal, SESSION.id, offer('x'.repeat(60_000)));
    await clock.pass(0);
    expect(socket.closedWith).toBe(4429);
    expect(socket.bufferedAmount).toBeLessThanOrEqual(1024 * 1024);
    expect(toAgent.at(-1)).toEqual({ type: 'detach', reason: 'closed' });
  });

  test('and so is one that does not read 256 messages', async () => {
    const { bus, clock, socket, say } = await world();
    await say(hello);
    for (let count = 0; count < 300; count += 1) bus.publish(sessionSubjects.signal, SESSION.id, offer('v'));
    await clock.pass(0);
    expect(socket.closedWith).toBe(4429);
    expect(socket.sent.length).toBe(256);
  });

  test('a full queue towards the host closes with 4429, and says so', async () => {
    const { relay, socket, toAgent, say } = await world();
    await say(hello);
    relay.is = 'full';
    await say({ type: 'bye' });
    expect(socket.closedWith).toBe(4429);
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', code: 'relay_unavailable', fatal: true });
    expect(toAgent.map(({ type }) => type)).toEqual(['attach', 'detach']);
  });

  test('a host that is gone closes with 4500', async () => {
    const { relay, socket, say } = await world();
    relay.is = 'gone';
    await say(hello);
    expect(socket.closedWith).toBe(4500);
  });

  test('a host whose replica does not answer is not connected, which is no internal error', async () => {
    const { socket } = await world({ relay: 'silent' });
    expect(socket.closedWith).toBe(4500);
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', code: 'relay_unavailable', fatal: true });
  });

  test('more frames than a page can need before it is let in close with 4429', async () => {
    const { socket, say } = await world({ consume: () => new Promise(() => {}) });
    for (let count = 0; count < 17; count += 1) await say({ type: 'bye' });
    expect(socket.closedWith).toBe(4429);
  });

  test('and so do a few large ones, with which strangers could fill the memory', async () => {
    const { socket, say } = await world({ consume: () => new Promise(() => {}) });
    await say({ type: 'hello', padding: 'x'.repeat(200 * 1024) });
    expect(socket.closedWith).toBeNull();
    await say({ type: 'hello', padding: 'x'.repeat(100 * 1024) });
    expect(socket.closedWith).toBe(4429);
  });
});

describe('handshake', () => {
  test('a hello that comes before the token is accepted is read afterwards', async () => {
    let accept: (admission: Admission) => void = () => {};
    const { clock, socket, say } = await world({
      consume: () => new Promise((resolve) => (accept = resolve)),
    });
    await say(hello);
    await say({ type: 'renegotiate', pc_id: SESSION.id, reason: 'user' });
    expect(socket.sent).toEqual([]);
    accept({ sessionId: SESSION.id, guest: null });
    await clock.pass(0);
    expect(socket.sent.map((message) => message.type)).toEqual(['ready']);
    expect(socket.closedWith).toBeNull();
  });

  test('a token that is not judged within 15 s closes with 4500', async () => {
    const { clock, socket } = await world({ consume: () => new Promise(() => {}) });
    await clock.pass(14_999);
    expect(socket.closedWith).toBeNull();
    await clock.pass(1);
    expect(socket.closedWith).toBe(4500);
  });

  test('a database that fails closes with 4500', async () => {
    const { socket } = await world({ consume: () => Promise.reject(new Error('away')) });
    expect(socket.closedWith).toBe(4500);
  });

  test('releases its handshake once it is ready, and the socket when it has closed', async () => {
    const { released, socket, say } = await world();
    expect(released.handshakes).toBe(0);
    await say(hello);
    expect(released.handshakes).toBe(1);
    socket.emit('close');
    expect(released.sockets).toBe(1);
  });
});

test('a change that comes while the session is being read for ready is not lost', async () => {
  const starting = { ...SESSION, state: 'starting' as const, relay_ready: false };
  const reads: ((session: ViewedSession) => void)[] = [];
  const { bus, clock, socket, toAgent, say } = await world({
    view: () => new Promise((resolve) => reads.push(resolve)),
  });
  const answer = async (session: ViewedSession) => {
    reads.shift()?.(session);
    await clock.pass(0);
  };
  await answer(starting);
  await say(hello);
  bus.publish(sessionSubjects.changed, SESSION.id, {});
  await clock.pass(0);
  await answer(starting);
  await answer(SESSION);
  expect(socket.sent.map((message) => message.type)).toEqual(['ready', 'session']);
  expect(toAgent).toMatchObject([{ type: 'attach' }]);
});

test('a peer that does not answer the close is cut', async () => {
  const { bus, clock, socket, say } = await world();
  await say(hello);
  bus.publish(hostSubjects.changed, 'host', { what: 'lost' });
  await clock.pass(0);
  await clock.pass(1_999);
  expect([socket.closedWith, socket.terminated]).toEqual([4500, false]);
  await clock.pass(1);
  expect(socket.terminated).toBe(true);
});

describe('after the bus was away', () => {
  test('a socket whose host was lost meanwhile is closed', async () => {
    const { clock, gap, listeners, relay, socket, say } = await world();
    await say(hello);
    relay.is = 'gone';
    gap();
    await clock.pass(0);
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', code: 'relay_unavailable' });
    expect(listeners.size).toBe(0);
  });

  test('a socket whose session ended meanwhile says so', async () => {
    let session: ViewedSession = SESSION;
    const { clock, gap, socket, say } = await world({ view: async () => session });
    await say(hello);
    session = { ...SESSION, state: 'stopped' };
    gap();
    await clock.pass(0);
    expect(socket.sent.at(-1)).toEqual({ type: 'bye', reason: 'session_ended' });
  });
});

describe('the socket of a guest', () => {
  const guest: AdmittedGuest = {
    id: 'guest',
    slot: 1,
    name: 'Ada',
    expiresAt: new ManualClock().nowMs() + 60_000,
  };

  test('is attached with the name, and learns nothing that only the owner may know', async () => {
    const minted: unknown[] = [];
    const view: ViewedSession = {
      ...SESSION,
      state_detail: 'swapping',
      stream: { ...SESSION.stream, mic: true },
    };
    const { socket, toAgent, say } = await world({
      guest,
      view: async () => view,
      mintIceServers: (holderId, endsAtMs) => {
        minted.push([holderId, endsAtMs]);
        return { iceServers: [], ttlSecs: null };
      },
    });
    await say(hello);
    expect(socket.sent.at(-1)).toMatchObject({ session: { state_detail: null }, stream: { mic: false } });
    expect(toAgent).toMatchObject([{ type: 'attach', guest: { id: 'guest', name: 'Ada' } }]);
    // Of the guest, not of the session, for the page and for the host.
    expect(minted).toEqual(Array(2).fill([guest.id, guest.expiresAt]));
  });

  test('is not a viewer that replaces the owner', async () => {
    const { bus, clock, say, socket } = await world({ guest });
    const viewers: unknown[] = [];
    bus.subscribe(sessionSubjects.viewer, SESSION.id, (viewer) => void viewers.push(viewer));
    await say(hello);
    bus.publish(sessionSubjects.viewer, SESSION.id, { conn: 9, client_id: SESSION.id });
    await clock.pass(0);
    expect([viewers.length, socket.closedWith]).toEqual([1, null]);
  });

  test('is closed when the time is over', async () => {
    const { clock, socket, say } = await world({ guest });
    await say(hello);
    await clock.pass(60_000);
    expect([socket.sent.at(-1), socket.closedWith]).toEqual([{ type: 'bye', reason: 'guest_ended' }, 4403]);
  });

  test('is closed when the owner removes the guest, also before the page has greeted', async () => {
    const { bus, clock, socket, toAgent, say } = await world({ guest });
    await say(hello);
    bus.publish(sessionSubjects.guestEnded, 'guest', {});
    await clock.pass(0);
    expect(socket.closedWith).toBe(4403);
    expect(toAgent.map(({ type }) => type)).toEqual(['attach', 'detach']);
    const late = await world({ guest, isAdmitted: async () => false });
    await late.say(hello);
    expect([late.socket.closedWith, late.toAgent]).toEqual([4403, []]);
  });

  test('is closed after the bus was away, if the guest was removed meanwhile', async () => {
    let isAdmitted = true;
    const { clock, gap, socket, say } = await world({ guest, isAdmitted: async () => isAdmitted });
    await say(hello);
    isAdmitted = false;
    gap();
    await clock.pass(0);
    expect(socket.closedWith).toBe(4403);
  });
});
