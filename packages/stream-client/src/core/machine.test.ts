import { backoffMs } from '@footlight/protocol';
import type { ServiceMessage } from '@footlight/protocol/signal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, publicState } from './machine.ts';
import { type Action, type Fact, INITIAL, type Model, type TimerName } from './model.ts';

const P1 = 'aaaaaaaa-0000-4000-8000-000000000001';
const P2 = 'bbbbbbbb-0000-4000-8000-000000000002';
const SESSION = 'cccccccc-0000-4000-8000-000000000003';

const ready: ServiceMessage = {
  type: 'ready',
  protocol: 1,
  session: { id: SESSION, state: 'starting', state_detail: 'starting app' },
  stream: { codec: 'h264', width: 1280, height: 720, fps: 60, audio: true, mic: false, recording: false },
  ice_servers: [],
  conn: 1,
};
const readyFor = (ice_ttl_secs: number): ServiceMessage => ({ ...ready, ice_ttl_secs });
const offer = (pc_id: string): ServiceMessage => ({ type: 'offer', pc_id, sdp: 'v=0', reason: 'first' });
const message = (content: ServiceMessage): Fact => ({ type: 'message', message: content });
const access: Fact = { type: 'access', url: 'wss://host/v1/signal', ice_servers: null };

/** A player that gets `Fact` events from the test, on a clock that the test moves. */
class Play {
  model: Model = INITIAL;
  actions: Action[] = [];
  nowMs = 0;

  after(...facts: Fact[]): this {
    for (const fact of facts) {
      const step = decide(this.model, fact, { nowMs: this.nowMs, random: 0.5 });
      this.model = step.model;
      this.actions = step.actions;
    }
    return this;
  }

  get state() {
    return publicState(this.model);
  }

  action<T extends Action['type']>(type: T): Extract<Action, { type: T }> | undefined {
    return this.actions.find((action): action is Extract<Action, { type: T }> => action.type === type);
  }

  timer(name: TimerName): number | undefined {
    return this.actions.find((action) => action.type === 'set_timer' && action.name === name) === undefined
      ? undefined
      : (this.actions.find((action) => action.type === 'set_timer' && action.name === name) as { ms: number })
          .ms;
  }
}

const greeted = () => new Play().after({ type: 'connect' }, access, { type: 'socket_open' });
const waiting = () => greeted().after(message(ready));
const live = () =>
  waiting().after(
    message(offer(P1)),
    { type: 'peer_state', pc_id: P1, state: 'connected' },
    { type: 'frame', pc_id: P1 },
  );

describe('connecting until the first picture', () => {
  test('nothing happens before connect', () => {
    const play = new Play().after(access, { type: 'socket_open' }, { type: 'disconnect' });
    expect(play.state).toEqual({ kind: 'idle' });
    expect(play.actions).toEqual([]);
  });

  test('connect fetches a token, opens the socket, says hello', () => {
    const play = new Play().after({ type: 'connect' });
    expect(play.action('fetch_access')).toBeDefined();
    expect(play.after(access).action('open_socket')?.url).toBe('wss://host/v1/signal');
    expect(play.after({ type: 'socket_open' }).action('send_hello')).toEqual({
      type: 'send_hello',
      resume: null,
    });
    expect(play.state).toEqual({ kind: 'connecting', attempt: 0 });
  });

  test('ready shows the launch step, and session messages change it', () => {
    const play = waiting();
    expect(play.state).toMatchObject({
      kind: 'waiting',
      session_state: 'starting',
      state_detail: 'starting app',
    });
    play.after(
      message({ type: 'session', state: 'running', state_detail: null, app_launch_state: 'game_running' }),
    );
    expect(play.state).toMatchObject({
      kind: 'waiting',
      session_state: 'running',
      app_launch_state: 'game_running',
    });
  });

  test('an offer builds a connection, connected shows it, a frame makes it live', () => {
    const play = waiting().after(message(offer(P1)));
    expect(play.action('build_peer')?.offer.pc_id).toBe(P1);
    play.after({ type: 'peer_state', pc_id: P1, state: 'connected' });
    expect(play.action('promote')?.pc_id).toBe(P1);
    expect(play.state.kind).toBe('waiting');
    expect(play.after({ type: 'frame', pc_id: P1 }).state).toEqual({
      kind: 'live',
      signaling: 'connected',
      app_launch_state: null,
    });
  });

  test('an attempt that takes too long is abandoned and repeated', () => {
    const play = greeted().after({ type: 'timer', name: 'handshake' });
    expect(play.action('close_socket')).toBeDefined();
    expect(play.timer('retry')).toBe(375);
    expect(play.state).toEqual({ kind: 'connecting', attempt: 1 });
  });

  test('a candidate is added to the connection that it names; unknown ones are ignored', () => {
    const candidate = { type: 'candidate', candidate: 'c', mid: 'video' } as const;
    const play = waiting().after(message(offer(P1)));
    expect(play.after(message({ ...candidate, pc_id: P1 })).action('add_candidate')?.pc_id).toBe(P1);
    expect(play.after(message({ ...candidate, pc_id: P2 })).actions).toEqual([]);
  });

  test('an unusable offer ends the stream, because the next offer would be the same', () => {
    const play = waiting().after(message(offer(P1)), { type: 'peer_unusable', pc_id: P1, why: 'no codec' });
    expect(play.state).toEqual({
      kind: 'ended',
      reason: 'error',
      code: 'offer_unusable',
      message: 'no codec',
    });
  });
});

describe('an interrupted network', () => {
  const silent: Fact = { type: 'silent', pc_id: P1 };
  const reachable = (yes: boolean): Fact => ({ type: 'reachable', yes });

  test('is shown before ICE notices, and a short interruption ends with the next frame', () => {
    const play = live().after(silent);
    expect(play.state).toEqual({ kind: 'reconnecting', attempt: 0, why: 'media', next_at_ms: null });
    expect(play.actions).toEqual([]);
    expect(play.after(reachable(false)).state).toMatchObject({ why: 'network' });
    expect(play.after({ type: 'frame', pc_id: P1 }).state).toMatchObject({ kind: 'live' });
    expect(play.after(silent).state).toMatchObject({ why: 'media' });
  });

  test('replaces the open socket as soon as the service answers, because the old one waits for TCP', () => {
    for (const until of [[], [message(offer(P2))]] as Fact[][]) {
      const play = live().after(silent, reachable(false), ...until, reachable(true));
      expect(play.action('close_socket')).toEqual({ type: 'close_socket', bye: false });
      expect(play.action('fetch_access')).toBeDefined();
      expect(play.state).toMatchObject({ kind: 'reconnecting', attempt: 0, why: 'signaling' });
      play.after(access, { type: 'socket_open' });
      expect(play.action('send_hello')).toBeDefined();
    }
  });

  test('retries at once when the service answers; until then the state names the next attempt', () => {
    const play = live().after(silent, reachable(false), { type: 'socket_closed', code: 1006 });
    play.after({ type: 'timer', name: 'retry' });
    expect(play.action('fetch_access')).toBeUndefined();
    expect(play.timer('retry')).toBe(750);
    expect(play.state).toMatchObject({ attempt: 2, next_at_ms: 750 });
    play.after(reachable(true));
    expect(play.action('fetch_access')).toBeDefined();
    expect(play.state).toMatchObject({ attempt: 0, next_at_ms: null });
  });

  test('is over when a token arrives, and the attempt with that token continues', () => {
    const play = live().after(
      silent,
      { type: 'socket_closed', code: 1006 },
      { type: 'timer', name: 'retry' },
    );
    play.after(reachable(false), access);
    expect(play.state).toMatchObject({ why: 'signaling' });
    expect(play.after(reachable(true)).actions).toEqual([]);
  });

  test('an answer changes nothing without a silence before it, or while a picture is live', () => {
    expect(live().after(silent, reachable(true)).actions).toEqual([]);
    const back = live().after(silent, reachable(false), { type: 'frame', pc_id: P1 }, reachable(true));
    expect(back.actions).toEqual([]);
  });
});

describe('a lost socket leaves the picture alone', () => {
  test('the state stays live, with signaling lost', () => {
    const play = live().after({ type: 'socket_closed', code: 1006 });
    expect(play.state).toMatchObject({ kind: 'live', signaling: 'lost' });
    expect(play.action('close_peer')).toBeUndefined();
    expect(play.timer('retry')).toBe(375);
  });

  test('the next hello resumes the connection that plays', () => {
    const play = live().after(
      { type: 'socket_closed', code: 1012 },
      { type: 'timer', name: 'retry' },
      access,
    );
    expect(play.after({ type: 'socket_open' }).action('send_hello')?.resume).toBe(P1);
    play.after(message(ready), message({ type: 'resumed', pc_id: P1 }));
    expect(play.state).toMatchObject({ kind: 'live', signaling: 'connected' });
    expect(play.actions).toEqual([]);
  });

  test('a connection that failed meanwhile is not resumed', () => {
    const play = live().after(
      { type: 'socket_closed', code: 1006 },
      { type: 'peer_state', pc_id: P1, state: 'failed' },
    );
    expect(play.state).toMatchObject({ kind: 'reconnecting', attempt: 1, why: 'signaling' });
    play.after({ type: 'timer', name: 'retry' }, access, { type: 'socket_open' });
    expect(play.action('send_hello')?.resume).toBeNull();
  });

  test('retry delays grow to 4 s and start over after ready', () => {
    const play = live();
    const waits = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      play.after({ type: 'socket_closed', code: 1006 });
      waits.push(play.timer('retry'));
      play.after({ type: 'timer', name: 'retry' }, access);
    }
    expect(waits).toEqual([375, 750, 1500, 3000, 3000, 3000]);
    play.after({ type: 'socket_open' }, message(ready), { type: 'socket_closed', code: 1006 });
    expect(play.timer('retry')).toBe(375);
  });

  test.each([
    [4401, 0],
    [4409, 1000],
    [4429, 5000],
    [4500, 375],
    [4408, 375],
  ])('close %d waits %d ms', (code, ms) => {
    expect(live().after({ type: 'socket_closed', code }).timer('retry')).toBe(ms);
  });

  test('when the browser is online again, the client dials once, at once', () => {
    const play = live().after({ type: 'socket_closed', code: 1006 }, { type: 'online' });
    expect(play.actions).toEqual([
      { type: 'clear_timer', name: 'retry' },
      { type: 'fetch_access' },
      { type: 'set_timer', name: 'handshake', ms: 15_000 },
    ]);
    expect(play.after({ type: 'online' }).actions).toEqual([]);
    expect(play.after({ type: 'access_failed' }).timer('retry')).toBe(375);
  });

  test('a network change has no effect while the socket is open or after the end', () => {
    expect(live().after({ type: 'online' }).actions).toEqual([]);
    expect(live().after({ type: 'disconnect' }, { type: 'online' }).actions).toEqual([]);
  });

  test('a token that is refused repeatedly is not requested in a loop', () => {
    const play = live().after(
      { type: 'socket_closed', code: 4401 },
      { type: 'timer', name: 'retry' },
      access,
    );
    expect(play.after({ type: 'socket_closed', code: 4401 }).timer('retry')).toBe(750);
  });
});

describe('the microphone', () => {
  test.each<[string, Fact]>([
    ['a lost connection', { type: 'peer_state', pc_id: P1, state: 'failed' }],
    ['a stuck picture', { type: 'stuck', pc_id: P1 }],
    ['a change of the app', message({ type: 'session', state: 'running', state_detail: 'swapping' })],
  ])('is closed by %s', (_name, fact) => {
    expect(live().after(fact).action('close_microphone')).toBeDefined();
  });

  test.each<[string, Fact]>([
    ['a short silence', { type: 'silent', pc_id: P1 }],
    ['another message about the session', message({ type: 'session', state: 'running', state_detail: null })],
    ['a lost socket', { type: 'socket_closed', code: 1006 }],
  ])('stays open through %s', (_name, fact) => {
    expect(live().after(fact).action('close_microphone')).toBeUndefined();
  });
});

describe('a lost picture requests a new connection', () => {
  const sent = (play: Play) => {
    const action = play.action('send');
    return action?.message.type === 'renegotiate' ? action.message.reason : undefined;
  };

  test.each([
    ['failed', { type: 'peer_state', pc_id: P1, state: 'failed' } as Fact, 'ice_failed'],
    ['stuck', { type: 'stuck', pc_id: P1 } as Fact, 'video_stuck'],
    ['the host says error', { type: 'control_bye', pc_id: P1, reason: 'error' } as Fact, 'ice_failed'],
  ])('%s', (_name, fact, reason) => {
    const play = live().after(fact);
    expect(sent(play)).toBe(reason);
    expect(play.state).toEqual({ kind: 'reconnecting', attempt: 0, why: 'media', next_at_ms: null });
  });

  test('a disconnected peer requests one only after three seconds', () => {
    const play = live().after({ type: 'peer_state', pc_id: P1, state: 'disconnected' });
    expect(play.timer('grace')).toBe(3000);
    expect(play.state.kind).toBe('live');
    expect(sent(play.after({ type: 'timer', name: 'grace' }))).toBe('disconnected');
  });

  test('a peer that recovers in time requests none', () => {
    const play = live().after(
      { type: 'peer_state', pc_id: P1, state: 'disconnected' },
      { type: 'peer_state', pc_id: P1, state: 'connected' },
    );
    expect(play.after({ type: 'timer', name: 'grace' }).actions).toEqual([]);
    expect(play.state.kind).toBe('live');
  });

  test('at most one request in three seconds; the next one is delayed', () => {
    const play = live().after({ type: 'stuck', pc_id: P1 });
    play.nowMs = 1000;
    play.after({ type: 'renegotiate' });
    expect(sent(play)).toBeUndefined();
    expect(play.timer('renegotiate')).toBe(2000);
    play.nowMs = 3000;
    expect(sent(play.after({ type: 'timer', name: 'renegotiate' }))).toBe('user');
  });

  test('no offer within ten seconds: the socket counts as dead', () => {
    const play = live().after({ type: 'stuck', pc_id: P1 }, { type: 'timer', name: 'offer' });
    expect(play.action('close_socket')).toBeDefined();
    expect(play.timer('retry')).toBe(375);
  });
});

describe('make before break', () => {
  const replacing = () => live().after({ type: 'renegotiate' }, message(offer(P2)));

  test('the old connection plays until the new one is connected', () => {
    const play = replacing();
    expect(play.action('close_peer')).toBeUndefined();
    expect(play.timer('retire')).toBe(10_000);
    expect(play.state.kind).toBe('live');
    play.after({ type: 'peer_state', pc_id: P2, state: 'connected' });
    expect(play.actions).toEqual(
      expect.arrayContaining([
        { type: 'promote', pc_id: P2 },
        { type: 'close_peer', pc_id: P1 },
      ]),
    );
  });

  test('after ten seconds the connection that does not play is closed', () => {
    expect(replacing().after({ type: 'timer', name: 'retire' }).action('close_peer')?.pc_id).toBe(P2);
    const dead = live().after({ type: 'peer_state', pc_id: P1, state: 'failed' }, message(offer(P2)));
    expect(dead.after({ type: 'timer', name: 'retire' }).action('close_peer')?.pc_id).toBe(P1);
  });

  test('a newer offer replaces a connection that was never established', () => {
    const play = waiting().after(message(offer(P1)), message(offer(P2)));
    expect(play.action('close_peer')?.pc_id).toBe(P1);
  });

  test('a bye on the old connection does not end the stream', () => {
    const play = replacing().after({ type: 'control_bye', pc_id: P1, reason: 'taken_over' });
    expect(play.state.kind).toBe('live');
  });

  test('if a new connection fails, the old one keeps playing', () => {
    const play = replacing().after({ type: 'peer_state', pc_id: P2, state: 'failed' });
    expect(play.action('close_peer')?.pc_id).toBe(P2);
    expect(play.action('send')).toBeUndefined();
    expect(play.state.kind).toBe('live');
  });
});

describe('the end', () => {
  test.each([
    [4404, 'session_ended'],
    [4406, 'reload'],
    [4410, 'taken_over'],
    [4415, 'codec_unsupported'],
    [4400, 'error'],
    [1009, 'error'],
  ])('close %d: %s', (code, reason) => {
    const play = live().after({ type: 'socket_closed', code });
    expect(play.state).toMatchObject({ kind: 'ended', reason });
    expect(play.action('close_peer')?.pc_id).toBe(P1);
  });

  test.each(['taken_over', 'session_ended', 'host_lost'] as const)('bye %s', (reason) => {
    expect(live().after(message({ type: 'bye', reason })).state).toMatchObject({ kind: 'ended', reason });
  });

  test('the bye going_away does not end the stream', () => {
    expect(live().after(message({ type: 'bye', reason: 'going_away' })).state.kind).toBe('live');
  });

  test('a bye on the control channel ends it as idle, also without the service', () => {
    const play = live().after({ type: 'socket_closed', code: 1006 });
    play.after({ type: 'control_bye', pc_id: P1, reason: 'idle_timeout' });
    expect(play.state).toMatchObject({ kind: 'ended', reason: 'idle_timeout' });
  });

  test('disconnecting by choice sends bye', () => {
    expect(live().after({ type: 'disconnect' }).action('close_socket')).toEqual({
      type: 'close_socket',
      bye: true,
    });
    expect(live().after({ type: 'socket_closed', code: 4410 }).action('close_socket')?.bye).toBe(false);
  });

  test('a refused token ends it with the reason of the refusal', () => {
    const play = new Play().after({ type: 'connect' });
    play.after({ type: 'access_refused', reason: 'session_ended', code: 'conflict', message: 'over' });
    expect(play.state).toEqual({ kind: 'ended', reason: 'session_ended', code: 'conflict', message: 'over' });
  });

  test('a fatal error sets the code of the end that follows', () => {
    const play = greeted().after(
      message({ type: 'error', code: 'answer_rejected', message: 'broken', fatal: true }),
      { type: 'socket_closed', code: 4500 },
    );
    expect(play.state).toEqual({
      kind: 'ended',
      reason: 'error',
      code: 'answer_rejected',
      message: 'broken',
    });
  });

  test.each(['relay_unavailable', 'rate_limited', 'internal'] as const)(
    'a fatal %s closes only the socket: the picture stays, and a retry follows',
    (code) => {
      const play = live().after(message({ type: 'error', code, message: 'not now', fatal: true }), {
        type: 'socket_closed',
        code: 4500,
      });
      expect(play.state).toMatchObject({ kind: 'live', signaling: 'lost' });
      expect(play.action('set_timer')).toMatchObject({ name: 'retry' });
      expect(play.after({ type: 'timer', name: 'retry' }).action('fetch_access')).toBeDefined();
    },
  );

  test('a refused video ends it, unless another connection is playing', () => {
    const refused = message({ type: 'error', code: 'video_rejected', message: 'x', fatal: false });
    expect(waiting().after(message(offer(P1)), refused).state).toMatchObject({
      kind: 'ended',
      reason: 'codec_unsupported',
      code: 'video_rejected',
    });
    expect(live().after(message(offer(P2)), refused).state.kind).toBe('live');
  });

  test('connect starts again from the beginning', () => {
    const play = live().after({ type: 'socket_closed', code: 4410 }, { type: 'connect' });
    expect(play.state).toEqual({ kind: 'connecting', attempt: 0 });
    expect(play.action('fetch_access')).toBeDefined();
  });
});

describe('ICE servers with credentials that expire', () => {
  const TTL_SECS = 600;
  const liveFor = () =>
    greeted().after(
      message(readyFor(TTL_SECS)),
      message(offer(P1)),
      { type: 'peer_state', pc_id: P1, state: 'connected' },
      { type: 'frame', pc_id: P1 },
    );

  test('until the expiry, a new connection uses them', () => {
    const play = liveFor();
    play.nowMs = TTL_SECS * 1000 - 1;
    play.after({ type: 'renegotiate' });
    expect(play.action('send')?.message).toMatchObject({ type: 'renegotiate', reason: 'user' });
  });

  test.each([
    ['the person wants it', { type: 'renegotiate' } as Fact],
    ['it is stuck', { type: 'stuck', pc_id: P1 } as Fact],
  ])('afterwards, a new socket gets new ones, and an offer without resume: %s', (_why, fact) => {
    const play = liveFor();
    play.nowMs = TTL_SECS * 1000;
    play.after(fact);
    expect(play.action('send')).toBeUndefined();
    expect(play.action('close_socket')).toEqual({ type: 'close_socket', bye: false });
    expect(play.action('fetch_access')).toBeDefined();
    // The connection plays on until the new one is connected.
    expect(play.action('close_peer')).toBeUndefined();

    // The page still needs the offer if the first attempt fails.
    play.after(access, { type: 'socket_closed', code: 1006 }, { type: 'timer', name: 'retry' }, access);
    expect(play.after({ type: 'socket_open' }).action('send_hello')?.resume).toBeNull();

    const ice_servers = [{ urls: ['turn:a'], username: '1:s', credential: 'c' }];
    play.after(message({ ...readyFor(TTL_SECS), ice_servers } as ServiceMessage));
    expect(play.after(message(offer(P2))).action('build_peer')).toMatchObject({ ice_servers });
    play.after({ type: 'peer_state', pc_id: P2, state: 'connected' }, { type: 'frame', pc_id: P2 });

    // With the offer the matter is settled: a later socket resumes again.
    play.after({ type: 'socket_closed', code: 1006 }, { type: 'timer', name: 'retry' }, access);
    expect(play.after({ type: 'socket_open' }).action('send_hello')?.resume).toBe(P2);
  });

  test('a lost socket does not matter to a relay in use: the connection is resumed', () => {
    const play = liveFor();
    play.nowMs = TTL_SECS * 1000;
    play.after({ type: 'socket_closed', code: 1006 }, { type: 'timer', name: 'retry' }, access);
    expect(play.after({ type: 'socket_open' }).action('send_hello')?.resume).toBe(P1);
  });

  test('a first offer that comes after the expiry is not answered with them', () => {
    const play = greeted().after(message(readyFor(TTL_SECS)));
    play.nowMs = TTL_SECS * 1000;
    play.after(message(offer(P1)));
    expect(play.action('build_peer')).toBeUndefined();
    play.after(access, { type: 'socket_open' }, message(readyFor(TTL_SECS)), message(offer(P2)));
    expect(play.action('build_peer')?.offer.pc_id).toBe(P2);
  });
});

describe('any events in any order', () => {
  const id = fc.constantFrom(P1, P2);
  const anyFact: fc.Arbitrary<Fact> = fc.oneof(
    fc.constantFrom<Fact>({ type: 'connect' }, { type: 'disconnect' }, access, { type: 'access_failed' }),
    fc.constantFrom<Fact>({ type: 'socket_open' }, { type: 'renegotiate' }, { type: 'online' }),
    fc
      .constantFrom(1006, 1012, 4401, 4404, 4410, 4500, 4429)
      .map((code): Fact => ({ type: 'socket_closed', code })),
    fc
      .tuple(id, fc.constantFrom<RTCPeerConnectionState>('connected', 'disconnected', 'failed', 'closed'))
      .map(([pc_id, state]): Fact => ({ type: 'peer_state', pc_id, state })),
    id.map((pc_id): Fact => ({ type: 'frame', pc_id })),
    id.map((pc_id): Fact => ({ type: 'stuck', pc_id })),
    id.map((pc_id) => message(offer(pc_id))),
    id.map((pc_id) => message({ type: 'resumed', pc_id })),
    fc.constantFrom(ready, readyFor(1)).map(message),
    fc.constant(message({ type: 'error', code: 'ice_timeout', message: '', fatal: false })),
    fc
      .constantFrom<TimerName>('retry', 'handshake', 'retire', 'grace', 'renegotiate', 'offer')
      .map((name): Fact => ({ type: 'timer', name })),
  );

  test('the end releases everything: every connection that was built is closed or held', () => {
    fc.assert(
      fc.property(fc.array(anyFact, { maxLength: 60 }), (facts) => {
        const play = new Play();
        const open = new Map<string, number>();
        for (const fact of facts) {
          play.nowMs += 500;
          play.after(fact);
          for (const action of play.actions) {
            if (action.type === 'build_peer') open.set(action.offer.pc_id, 1);
            if (action.type === 'close_peer') open.delete(action.pc_id);
          }
          const held = [play.model.current?.pc_id, play.model.next?.pc_id].filter(
            (item) => item !== undefined,
          );
          expect(new Set(open.keys())).toEqual(new Set(held));
          if (play.model.ended !== null)
            expect(play.model).toMatchObject({ active: false, socket: 'closed' });
          if (play.state.kind === 'live') expect(play.model.current).not.toBeNull();
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

test('the backoff stays between half and all of its nominal value of 0.5 to 4 s', () => {
  fc.assert(
    fc.property(fc.nat({ max: 100 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, random) => {
      const ms = backoffMs(attempt, random);
      expect(ms).toBeGreaterThanOrEqual(250);
      expect(ms).toBeLessThanOrEqual(4_000);
    }),
  );
});
