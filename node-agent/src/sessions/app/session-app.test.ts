import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { AppSpec } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import type { MediaWorker } from '../../media/worker/worker-pool.ts';
import type { RunningApp, SessionDirs } from '../../runtime/runtime.ts';
import { FakeApp } from '../../testing/fake-app.ts';
import { WINDOWLESS_MS } from './daemon-watch.ts';
import { SessionApp } from './session-app.ts';

const HOME = { provider: 'local', ref: '/homes/alice', container_path: '' } as const;
const spec = (label: string): AppSpec => ({
  ...{ image: '', args: [label], env: {}, mounts: [], gpu: false, label },
  home: HOME,
});

function session(first = spec('old'), bootTimeoutSecs = 0) {
  const end = new AbortController();
  const asked: {
    label: string;
    answer: (app: RunningApp) => void;
    refuse: (error: Error) => void;
    ready: Promise<void>;
  }[] = [];
  const applied: string[] = [];
  const hints: (string | undefined)[] = [];
  const swaps: [appId: string, error: string | null][] = [];
  const clock = new ManualClock();
  let watch = 0;
  const worker = {
    exited: new Promise(() => undefined),
    on: (type: string, listener: (message: { watch: number }) => void) => {
      if (type === 'watching') setImmediate(() => listener({ watch }));
      return () => undefined;
    },
    send: (message: { watch: number }) => {
      watch = message.watch;
    },
  };
  const app = new SessionApp('app-1', first, {
    sessionId: 'the-session',
    clock,
    logger: silentLogger(),
    runtime: {
      fetch: async () => undefined,
      openNetwork: async () => null,
      start: ({ label }, { ready }) =>
        new Promise((answer, refuse) => asked.push({ label, answer, refuse, ready })),
    },
    resources: {
      dirs: { home: '/s/home', scratch: '/s' } as SessionDirs,
      userAndHomes: {
        home: HOME.ref,
        homeRef: HOME.ref,
        user: null,
        overlayAt: () => null,
        takeNext: async () => HOME.ref,
        moveToNext: async () => undefined,
        dropNext: async () => undefined,
      },
      writeRecord: async () => undefined,
    },
    events: { send: () => undefined },
    ended: end.signal,
    bootTimeoutSecs,
    gpu: { renderNode: null, cdiName: null },
    worker: { process: worker as unknown as MediaWorker, enter: [], closeFiles: async () => undefined },
    apply: (input) => {
      applied.push(input.kind);
      if (input.kind === 'app_exited') hints.push(input.hint);
    },
    reportSwap: (appId, error) => swaps.push([appId, error]),
  });
  const started = async (label: string): Promise<FakeApp> => {
    const request = await expect.poll(() => asked.find((start) => start.label === label)).toBeDefined();
    void request;
    const index = asked.findIndex((start) => start.label === label);
    const running = new FakeApp();
    asked.splice(index, 1)[0]?.answer(running);
    // Waits a turn of the event loop, so that the session has handled the event.
    await new Promise(setImmediate);
    return running;
  };
  const waitsFor = (label: string) =>
    expect.poll(() => asked.some((start) => start.label === label)).toBe(true);
  const refused = async (label: string): Promise<void> => {
    await waitsFor(label);
    asked.splice(0, 1)[0]?.refuse(new Error('no such program'));
    await new Promise(setImmediate);
  };
  /** Whether the app whose start was requested may run: true, false when not yet, or the reason why it never will. */
  const mayRun = async (label: string): Promise<boolean | string> => {
    await waitsFor(label);
    const ready = asked
      .find((start) => start.label === label)
      ?.ready.then(
        () => true,
        (error: Error) => error.message,
      );
    return Promise.race([
      ready ?? false,
      new Promise<false>((resolve) => setImmediate(() => resolve(false))),
    ]);
  };
  return { app, applied, hints, swaps, clock, started, refused, waitsFor, mayRun, end: () => end.abort() };
}

const screenAndSoundOf = (answers: Promise<void>) => ({
  display: { name: ':1', socket: '/x', answers },
  audio: null,
});
const SCREEN = screenAndSoundOf(Promise.resolve());

test('a session that ends while its old app is restarted also ends that app', async () => {
  const { app, started, waitsFor, end } = session();
  app.launch(SCREEN);
  const old = await started('old');
  expect(app.change({ app_id: 'app-2', app: spec('new') })).toEqual({ ok: true });
  const next = await started('new');
  expect(old.stops).toBe(1);
  next.exit(1);
  await waitsFor('old');
  end();
  const ended = app.end(0);
  const again = await started('old');
  await ended;
  expect(again.stops).toBe(1);
});

test('the first app is prepared when the display listens, and runs only when the session starts', async () => {
  const { app, mayRun, started, end } = session();
  app.prepareOn(SCREEN);
  expect(await mayRun('old')).toBe(false);
  app.launch(SCREEN);
  expect(await mayRun('old')).toBe(true);
  const old = await started('old');
  end();
  await app.end(0);
  expect(old.stops).toBe(2);
});

test('a prepared app never runs when its session ends before the start', async () => {
  const { app, applied, mayRun, refused, end } = session();
  app.prepareOn(SCREEN);
  expect(await mayRun('old')).toBe(false);
  end();
  expect(await mayRun('old')).toBe('the session ended');
  const ended = app.end(0);
  await refused('old');
  await ended;
  app.prepareOn(SCREEN);
  expect(applied).toEqual([]);
});

test('a swap while the first app still starts waits for it', async () => {
  const { app, started, waitsFor, end } = session();
  app.launch(SCREEN);
  await waitsFor('old');
  expect(app.change({ app_id: 'app-2', app: spec('new') })).toEqual({ ok: true });
  const old = await started('old');
  const next = await started('new');
  expect(old.stops).toBe(1);
  end();
  await app.end(0);
  expect(next.stops).toBeGreaterThan(0);
});

test('a swap without a running app is refused, and the next swap is not busy', async () => {
  const { app, swaps, refused, end } = session();
  app.launch(SCREEN);
  await refused('old');
  for (const id of ['app-2', 'app-3']) {
    expect(app.change({ app_id: id, app: spec(id) })).toEqual({ ok: true });
    await expect.poll(() => swaps.at(-1)).toEqual([id, 'the session has no running app']);
  }
  end();
  await app.end(0);
});

test('an app that does not end fails only its session', async () => {
  const { app, applied, started, end } = session();
  app.launch(SCREEN);
  const old = await started('old');
  old.onStop = () => {
    throw new Error('the app does not end');
  };
  app.change({ app_id: 'app-2', app: spec('new') });
  await expect.poll(() => old.stops).toBeGreaterThan(0);
  await new Promise(setImmediate);
  end();
  await app.end(0);
  expect(applied).toEqual([]);
});

test('an app restarted after a failed swap does not end the session before it has drawn again', async () => {
  const { app, applied, clock, started, waitsFor, end } = session();
  app.launch(SCREEN);
  await started('old');
  app.drawn();
  app.change({ app_id: 'app-2', app: spec('new') });
  (await started('new')).exit(1);
  await waitsFor('old');
  const again = await started('old');
  app.windows = 0;
  again.handOver();
  await new Promise(setImmediate);
  clock.advance(2 * WINDOWLESS_MS);
  expect(applied).toEqual([]);
  end();
  await app.end(0);
});

const NO_SANDBOX =
  '[10:10:ERROR:zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian system, ...';
const NO_NAMESPACE =
  'bwrap: No permissions to create new namespace, likely because the kernel does not allow';

test.each([
  [NO_SANDBOX, {}, /systempaths_unconfined/],
  [NO_NAMESPACE, {}, /systempaths_unconfined/],
  [NO_SANDBOX, { systempaths_unconfined: true }, undefined],
  ['no such file', {}, undefined],
])('the output %j of an ended app gives a hint about its spec', async (log, more, hint) => {
  const { app, hints, started, end } = session({ ...spec('old'), ...more });
  app.launch(SCREEN);
  const running = await started('old');
  running.log = log;
  running.exit(1);
  await expect.poll(() => hints).toHaveLength(1);
  expect(hints[0]).toEqual(hint === undefined ? undefined : expect.stringMatching(hint));
  end();
  await app.end(0);
});

describe('an app that starts while its display server starts', () => {
  const comingUp = () => {
    let answer: () => void = () => undefined;
    let fail: () => void = () => undefined;
    const answers = new Promise<void>((resolve, reject) => {
      answer = resolve;
      fail = () => reject(new Error('no memory'));
    });
    return { screenAndSound: screenAndSoundOf(answers), answer, fail };
  };
  const settle = () => new Promise(setImmediate);

  test('its end is handled when the server answers', async () => {
    const { app, applied, started } = session();
    const { screenAndSound, answer } = comingUp();
    app.launch(screenAndSound);
    (await started('old')).exit(1);
    await settle();
    expect(applied).toEqual([]);
    answer();
    await settle();
    expect(applied).toEqual(['app_exited']);
  });

  test.each(['ends', 'cannot be started'] as const)(
    'one that %s is not the reason if the server fails',
    async (what) => {
      const { app, applied, started, refused } = session();
      const { screenAndSound, fail } = comingUp();
      app.launch(screenAndSound);
      if (what === 'ends') (await started('old')).exit(1);
      else await refused('old');
      fail();
      await settle();
      expect(applied).toEqual([]);
    },
  );

  test('its time limit to draw begins when the server answers', async () => {
    const { app, applied, clock, started, end } = session(spec('old'), 2);
    const { screenAndSound, answer } = comingUp();
    app.launch(screenAndSound);
    await started('old');
    clock.advance(3_000);
    expect(applied).toEqual([]);
    answer();
    await settle();
    clock.advance(2_000);
    expect(applied).toEqual(['boot_timeout']);
    end();
    await app.end(0);
  });

  test('a session that has ended meanwhile does not wait for a window', async () => {
    const { app, clock, started, end } = session(spec('old'), 2);
    const { screenAndSound, answer } = comingUp();
    app.launch(screenAndSound);
    await started('old');
    end();
    answer();
    await app.end(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
