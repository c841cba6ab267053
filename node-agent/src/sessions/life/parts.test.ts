import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@footlight/platform/testing';
import type { ControlSignaling, SessionAssign } from '@footlight/protocol/agent';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ParentMessage } from '../../media/worker/worker-messages.ts';
import type { SessionUser } from '../../runtime/runtime.ts';
import { assignment } from '../../testing/assignments.ts';
import { decideAssign, type HostFacts } from '../policy.ts';
import { closeHome, HomeError, isBelow, lastOwner, openHome } from '../resources/home.ts';
import { HomeLocks } from '../resources/home-locks.ts';
import { UidPool } from '../resources/uid-pool.ts';
import { Relay } from '../worker/relay.ts';
import { IdleTimer } from './idle-timer.ts';

describe('homes', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'footlight-homes-'));
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('the way is made and closed to others', async () => {
    const ref = join(root, 'homes/alice-1/game-2');
    await openHome(join(root, 'homes'), ref, null);
    expect(lstatSync(ref).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(root, 'homes/alice-1')).mode & 0o777).toBe(0o711);
    await openHome(join(root, 'homes'), ref, null);
  });

  test.each(['link to a directory elsewhere', 'link as the home itself', 'file on the way'])(
    '%s',
    async (trick) => {
      mkdirSync(join(root, 'elsewhere'));
      mkdirSync(join(root, 'homes'));
      if (trick === 'link to a directory elsewhere')
        symlinkSync(join(root, 'elsewhere'), join(root, 'homes/alice'));
      if (trick === 'link as the home itself') {
        mkdirSync(join(root, 'homes/alice'));
        symlinkSync(join(root, 'elsewhere'), join(root, 'homes/alice/game'));
      }
      if (trick === 'file on the way') symlinkSync('/etc/passwd', join(root, 'homes/alice'));
      await expect(openHome(join(root, 'homes'), join(root, 'homes/alice/game'), null)).rejects.toThrow(
        HomeError,
      );
    },
  );

  // Who owns the outer one could put a link in the place of the inner one while the agent changes its owner.
  test.runIf(process.getuid?.() === 0)('one inside the home of a session is refused', async () => {
    const [homes, user] = [join(root, 'homes'), { uid: 71_320, gid: 71_320, groups: [] }];
    await openHome(homes, join(homes, 'alice'), user);
    await expect(openHome(homes, join(homes, 'alice/game'), user)).rejects.toThrow(HomeError);
    expect(readdirSync(join(homes, 'alice'))).toEqual([]);
  });

  describe.runIf(process.getuid?.() === 0)('below a root that the control plane chose', () => {
    const user = { uid: 71_320, gid: 71_320, groups: [] };
    const stateDir = () => join(root, 'state');
    const open = (homes: string, ref: string) =>
      openHome(homes, ref, user, { isSessionsGroup: (gid) => gid === 71_319, stateDir: stateDir() });
    // Not below /tmp, which is no place for them either.
    beforeEach(() => {
      rmSync(root, { recursive: true });
      root = mkdtempSync('/srv/footlight-homes-');
      mkdirSync(stateDir());
    });

    test.each(['/etc', '/usr/local/bin', '/tmp/.X11-unix', '/etc/systemd/system.control'])(
      'nothing in %s becomes a home',
      async (place) => {
        const ref = join(place, `footlight-of-a-test-${process.pid}`);
        for (const homes of ['/', place]) await expect(open(homes, ref)).rejects.toThrow(HomeError);
        expect(lstatSync(ref, { throwIfNoEntry: false })).toBeUndefined();
      },
    );

    test('what is there already is given to a session only where it is one of their homes', async () => {
      const [program, home] = [join(root, 'program'), join(root, 'home')];
      for (const path of [program, home]) {
        mkdirSync(path);
        writeFileSync(join(path, 'file'), '');
      }
      chownSync(home, 0, 71_319);
      symlinkSync('/etc', join(root, 'link'));
      await expect(open(root, program)).rejects.toThrow('no home of a session');
      await expect(open(root, join(stateDir(), 'sessions'))).rejects.toThrow(HomeError);
      await expect(open(join(root, 'link'), join(root, 'link/of-a-test'))).rejects.toThrow('/etc');
      await open(root, home);
      await open(root, join(root, 'alice/game'));
      expect([program, home].map((path) => lstatSync(path).uid)).toEqual([0, user.uid]);
    });
  });

  test.runIf(process.getuid?.() === 0)(
    'the next user gets its files, and no file of others that it names',
    async () => {
      const home = join(root, 'homes/alice');
      const user = (uid: number): SessionUser => ({ uid, gid: uid, groups: [] });
      const [former, next] = [user(71_320), user(71_321)];
      await openHome(join(root, 'homes'), home, former);
      const [own, twice, theirs] = [join(home, 'own'), join(home, 'twice'), join(home, 'theirs')];
      for (const path of [own, twice]) writeFileSync(path, '');
      for (const path of [own, twice]) chownSync(path, former.uid, former.gid);
      linkSync(twice, join(home, 'again'));
      // Where fs.protected_hardlinks is 0, an app can make this one.
      writeFileSync(join(root, 'shadow'), '');
      linkSync(join(root, 'shadow'), theirs);
      await closeHome(home, former);
      await openHome(join(root, 'homes'), home, next);
      expect([own, twice, theirs].map((path) => lstatSync(path).uid)).toEqual([next.uid, next.uid, 0]);
    },
  );

  test.each(['elsewhere/game', 'homes/../elsewhere/game', 'homes', 'homes2/game'])(
    '%s is not below the root: refused, and nothing is made',
    async (path) => {
      mkdirSync(join(root, 'homes'));
      await expect(openHome(join(root, 'homes'), `${root}/${path}`, null)).rejects.toThrow(HomeError);
      expect(readdirSync(root)).toEqual(['homes']);
      expect(readdirSync(join(root, 'homes'))).toEqual([]);
    },
  );

  test('a home root that is itself reached through a link is fine', async () => {
    mkdirSync(join(root, 'disk'));
    symlinkSync(join(root, 'disk'), join(root, 'homes'));
    await openHome(join(root, 'homes'), join(root, 'homes/alice/game'), null);
    expect(lstatSync(join(root, 'disk/alice/game')).isDirectory()).toBe(true);
  });

  test('a missing home has no last owner', async () => {
    expect(await lastOwner(join(root, 'nothing'))).toBeNull();
    chmodSync(root, 0o700);
  });

  test('no text leads out of the root', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('..', '.', 'a', '/', 'homes', ''), { maxLength: 8 }), (parts) => {
        const path = `/srv/homes/${parts.join('/')}`;
        if (!isBelow('/srv/homes', path)) return;
        expect(path.startsWith('/srv/homes/')).toBe(true);
        expect(path.split('/')).not.toContain('..');
      }),
    );
    expect(isBelow('/srv/homes', '/srv/homes')).toBe(false);
    expect(isBelow('/srv/homes', '/srv/homes2/a')).toBe(false);
    expect(isBelow('/', '/a')).toBe(true);
  });
});

describe('one holder per home', () => {
  const never = new AbortController().signal;

  test('later sessions wait in order', async () => {
    const locks = new HomeLocks(new ManualClock());
    const first = locks.tryTake('h');
    const order: string[] = [];
    const second = locks.take('h', 30_000, never).then((release) => order.push('second') && release);
    const third = locks.take('h', 30_000, never).then((release) => order.push('third') && release);
    expect(locks.tryTake('h')).toBeNull();
    expect(locks.tryTake('other')).not.toBeNull();
    first?.();
    first?.();
    const release = await second;
    expect(order).toEqual(['second']);
    if (typeof release === 'function') release();
    await third;
    expect(order).toEqual(['second', 'third']);
  });

  test('a home inside one that is held, or around it, is found', () => {
    const locks = new HomeLocks(new ManualClock());
    const release = locks.tryTake('/homes/alice/games');
    for (const nested of ['/homes/alice', '/homes/alice/games/one'])
      expect(locks.nestedWith(nested)).toBe('/homes/alice/games');
    for (const apart of ['/homes/alice/games', '/homes/alice/games2', '/homes/bob'])
      expect(locks.nestedWith(apart)).toBeNull();
    release?.();
    expect(locks.nestedWith('/homes/alice')).toBeNull();
  });

  test('the wait ends after its limit, or when the session does', async () => {
    const clock = new ManualClock();
    const locks = new HomeLocks(clock);
    const release = locks.tryTake('h');
    const late = locks.take('h', 30_000, never);
    const gone = new AbortController();
    const stopped = locks.take('h', 60_000, gone.signal);
    clock.advance(30_000);
    expect(await late).toBeNull();
    gone.abort();
    expect(await stopped).toBeNull();
    expect(clock.pendingTimers).toBe(0);
    release?.();
    expect(locks.tryTake('h')).not.toBeNull();
  });
});

describe('uids', () => {
  test('one each, the preferred one if it is free, none when all are taken', () => {
    const pool = new UidPool([70_000, 70_002]);
    expect(pool.take(70_001)).toBe(70_001);
    expect(pool.take(70_001)).toBe(70_000);
    expect(pool.take(5)).toBe(70_002);
    expect(pool.take(null)).toBeNull();
    pool.release(70_000);
    expect(pool.take(null)).toBe(70_000);
  });

  test('never the same one twice at a time', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant('take'), fc.nat(9))), (script) => {
        const pool = new UidPool([100, 109]);
        const held: number[] = [];
        for (const entry of script) {
          if (entry === 'take') {
            const uid = pool.take(null);
            if (uid === null) expect(held).toHaveLength(10);
            else held.push(uid);
          } else {
            const [uid] = held.splice(Number(entry), 1);
            if (uid !== undefined) pool.release(uid);
          }
          expect(new Set(held).size).toBe(held.length);
        }
      }),
    );
  });
});

describe('the idle time-out', () => {
  function timer(idleMs = 1_000) {
    const clock = new ManualClock();
    let fired = 0;
    const idle = new IdleTimer(clock, idleMs, () => {
      fired += 1;
    });
    return { clock, idle, fired: () => fired };
  }

  test('counts from running, and from the last disconnect', () => {
    const { clock, idle, fired } = timer();
    clock.advance(5_000);
    idle.running = true;
    clock.advance(500);
    idle.viewer = true;
    clock.advance(5_000);
    idle.viewer = false;
    clock.advance(999);
    expect(fired()).toBe(0);
    clock.advance(1);
    expect(fired()).toBe(1);
  });

  test('rests while the control plane is away and starts again with it', () => {
    const { clock, idle, fired } = timer();
    idle.running = true;
    clock.advance(900);
    idle.linkUp = false;
    clock.advance(60_000);
    idle.linkUp = true;
    clock.advance(999);
    expect(fired()).toBe(0);
    clock.advance(1);
    expect(fired()).toBe(1);
  });

  test('tells in how many seconds it fires: null while somebody watches, nothing where that is not known', () => {
    const { clock, idle } = timer(600_000);
    expect(idle.endsInS).toBeUndefined();
    idle.running = true;
    clock.advance(1_500);
    expect(idle.endsInS).toBe(599);
    idle.viewer = true;
    expect(idle.endsInS).toBeNull();
    idle.viewer = false;
    expect(idle.endsInS).toBe(600);
    idle.linkUp = false;
    expect(idle.endsInS).toBeUndefined();
    idle.linkUp = true;
    clock.advance(600_000);
    expect(idle.endsInS).toBe(0);
  });

  test('0 is never', () => {
    const { clock, idle, fired } = timer(0);
    idle.running = true;
    expect(idle.endsInS).toBeNull();
    clock.advance(1e9);
    expect(fired()).toBe(0);
  });
});

describe('signaling on its way to the worker', () => {
  const session_id = randomUUID();
  const attach = (conn: number): ControlSignaling => ({
    type: 'signaling',
    session_id,
    conn,
    msg: {
      type: 'attach',
      client_id: randomUUID(),
      hello: { type: 'hello', protocol: 1, client_id: randomUUID(), client: { kind: 'browser' }, codecs: [] },
      ice_servers: [],
    },
  });
  const bye = (conn: number): ControlSignaling => ({
    type: 'signaling',
    session_id,
    conn,
    msg: { type: 'bye' },
  });

  function relay() {
    const sent: ParentMessage[] = [];
    return { sent, relay: new Relay((message) => sent.push(message)) };
  }

  test('waits for the worker, and only for the newest socket', () => {
    const { sent, relay: it } = relay();
    it.deliver(attach(5));
    it.deliver(bye(5));
    it.deliver(attach(7));
    expect(sent).toEqual([]);
    it.open();
    expect(sent.map((message) => [message.type, 'conn' in message && message.conn])).toEqual([['attach', 7]]);
  });

  test('drops what an older socket says, and says goodbye once', () => {
    const { sent, relay: it } = relay();
    it.open();
    it.deliver(attach(7));
    it.deliver(bye(6));
    it.deliver({ type: 'signaling', session_id, conn: 6, msg: { type: 'detach', reason: 'closed' } });
    it.deliver(attach(6));
    expect(sent).toHaveLength(1);
    it.linkLost();
    it.linkLost();
    expect(sent.map(({ type }) => type)).toEqual(['attach', 'detach']);
  });

  test('takes lower numbers over a new link: the clock of the control plane may have been set back', () => {
    const { sent, relay: it } = relay();
    it.open();
    it.deliver(attach(1_000));
    it.linkLost();
    it.deliver(attach(7));
    expect(sent.map((message) => 'conn' in message && message.conn)).toEqual([1_000, 1_000, 7]);
  });

  test('holds a bounded number of messages', () => {
    const { sent, relay: it } = relay();
    it.deliver(attach(1));
    for (let count = 0; count < 1_000; count++) it.deliver(bye(1));
    it.open();
    expect(sent.length).toBeLessThanOrEqual(80);
  });
});

describe('what a host takes', () => {
  const host: HostFacts = {
    processRuntime: true,
    containerEngine: false,
    console: 'none',
    homeRoot: '/srv/homes',
    encoderFamily: 'openh264',
    encoders: [
      {
        family: 'openh264',
        gpu_index: 0,
        codec: 'h264',
        available: true,
        max_width: 1920,
        max_height: 1080,
        h264_profiles: ['constrained-baseline'],
        live_bitrate: true,
        live_resize: false,
      },
    ],
    gpus: [0],
  };
  const decide = (change: (assign: SessionAssign) => unknown, facts: Partial<HostFacts> = {}) => {
    const assign = { ...assignment(['xterm']), id: randomUUID() } as SessionAssign;
    change(assign);
    return decideAssign(assign, { ...host, ...facts })?.code ?? null;
  };
  const beside = (video_topology: 'local_only' | 'dual_output') => (assign: SessionAssign) =>
    Object.assign(assign, { video_topology });
  const FREE_UNENCODED: Partial<HostFacts> = { console: 'free', encoders: [] };
  const home = (ref: string, provider: 'local' | 'volume' = 'local') => ({
    provider,
    ref,
    container_path: '/home',
  });

  test.each<[string, (assign: SessionAssign) => unknown, Partial<HostFacts>, string | null]>([
    ['a plain process', () => undefined, {}, null],
    ['processes forbidden', () => undefined, { processRuntime: false }, 'policy'],
    ['an empty command', (a) => Object.assign(a.app, { args: [''] }), {}, 'policy'],
    ['a NUL', (a) => Object.assign(a.app, { args: ['a\0b'] }), {}, 'policy'],
    ['a NUL in a variable', (a) => Object.assign(a.app, { env: { A: '1\0B=2' } }), {}, 'policy'],
    ['a NUL in its name', (a) => Object.assign(a.app, { env: { 'A\0B': '1' } }), {}, 'policy'],
    ['network none', (a) => Object.assign(a.app, { network: 'none' }), {}, null],
    ['network bridge', (a) => Object.assign(a.app, { network: 'bridge' }), {}, null],
    [
      'an engine, but no digest',
      (a) => Object.assign(a.app, { image: 'game:latest' }),
      { containerEngine: true },
      'image_missing',
    ],
    ['a display where there is none', beside('dual_output'), {}, 'unsupported'],
    ['a display that is turned off', beside('local_only'), { console: 'off' }, 'unsupported'],
    ['a display that another session has', beside('local_only'), { console: 'taken' }, 'busy'],
    ['a display that is free', beside('dual_output'), { console: 'free' }, null],
    [
      'nothing to encode with, streamed as well',
      beside('dual_output'),
      FREE_UNENCODED,
      'encoder_unavailable',
    ],
    ['nothing to encode with, shown there alone', beside('local_only'), FREE_UNENCODED, null],
    ['a home', (a) => Object.assign(a.app, { home: home('/srv/homes/a/b') }), {}, null],
    ['the root itself', (a) => Object.assign(a.app, { home: home('/srv/homes') }), {}, 'policy'],
    ['dots', (a) => Object.assign(a.app, { home: home('/srv/homes/a/../../etc') }), {}, 'policy'],
    [
      'a line break',
      (a) => Object.assign(a.app, { home: home('/srv/homes/a\nroot::0:0::/:/bin/sh') }),
      {},
      'policy',
    ],
    ['a volume', (a) => Object.assign(a.app, { home: home('service-home-x', 'volume') }), {}, 'policy'],
    ['no such GPU', (a) => Object.assign(a, { gpu_index: 3 }), {}, 'encoder_unavailable'],
    ['another family', (a) => Object.assign(a, { encoder: 'nvenc' }), {}, 'encoder_unavailable'],
    ['another codec', (a) => Object.assign(a.stream, { codec: 'h265' }), {}, 'encoder_unavailable'],
    ['another profile', (a) => Object.assign(a.stream, { h264_profile: 'high' }), {}, 'encoder_unavailable'],
    ['too large', (a) => Object.assign(a.stream, { width: 3840 }), {}, 'encoder_unavailable'],
  ])('%s', (_name, change, facts, code) => {
    expect(decide(change, facts)).toBe(code);
  });
});
