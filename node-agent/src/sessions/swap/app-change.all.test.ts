import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { assignment, type FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Assignment, type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { hasPasta, NO_TRACES, networkHolders, networkOf, processesOf } from '../../testing/traces.ts';

const root = process.getuid?.() === 0;

let host: Awaited<ReturnType<typeof startHostedSessions>>;
let control: FakeControl;
let sessions: HostedSessions;
let stateDir: string;

beforeAll(async () => {
  host = await startHostedSessions([71_410, 71_419]);
  ({ control, sessions, stateDir } = host);
});

// Polled, because a session's record is removed only after the search for its user's files, which may end after the
// session.
afterEach(() => vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000));

afterAll(() => host?.close());

describe('a change of app', () => {
  const spec = (args: string[], more: Partial<Assignment['app']> = {}): Assignment['app'] => ({
    ...assignment(args).app,
    ...more,
  });
  const titled = (title: string) => ['xterm', '-T', title];
  const runs = (body: Assignment, title: string) =>
    processesOf(body.session_id).some(({ command }) => command.startsWith(`xterm -T ${title}`));
  async function swap(body: Assignment, app: Assignment['app'], app_id: string = randomUUID()) {
    const from = control.messages.length;
    const ack = await control.command({
      type: 'session_swap_app',
      session_id: body.session_id,
      app_id,
      app,
    });
    const outcome = () =>
      control.wait(
        'session_state',
        (message) => message.session_id === body.session_id && message.swap !== undefined,
        from,
      );
    return { ack, app_id, outcome };
  }
  async function running(args: string[], more: Partial<Assignment['app']> = {}): Promise<Assignment> {
    const body = assignment(args);
    Object.assign(body.app, more);
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    await sessions.displayOf(body);
    return body;
  }
  const homeOf = (name: string) => ({
    provider: 'local' as const,
    ref: join(stateDir, `homes/alice-00000001/${name}`),
    container_path: '/home',
  });

  test('the new app replaces the old one on the same display when it has drawn', async () => {
    const body = await running(titled('before'));
    const display = await sessions.displayOf(body);
    const { ack, app_id, outcome } = await swap(body, spec(titled('after')));
    expect(ack).toMatchObject({ ok: true });
    expect(await outcome()).toMatchObject({ state: 'running', swap: { app_id, result: 'complete' } });
    expect([runs(body, 'before'), runs(body, 'after')]).toEqual([false, true]);
    expect(await sessions.displayOf(body)).toEqual(display);
    // A repeated command must get the same answer and have no second effect.
    const again = await swap(body, spec(titled('after')), app_id);
    expect(await again.outcome()).toMatchObject({ swap: { app_id, result: 'complete' } });
    const back = await swap(body, spec(titled('third')));
    expect(await back.outcome()).toMatchObject({ swap: { result: 'complete' } });
    expect([runs(body, 'after'), runs(body, 'third')]).toEqual([false, true]);
    await sessions.stop(body);
  });

  test.each([
    [
      'ends before it drew',
      ['/bin/sh', '-c', 'exit 3'],
      'the app exited with status 3 before it drew anything',
    ],
    ['draws nothing in time', ['sleep', '60'], 'the app drew no window within 6 s'],
  ])('an app that %s is rolled back, and the old one never ended', async (_what, args, error) => {
    const body = assignment(titled('before'), { app_boot_timeout_secs: 6 });
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    await sessions.displayOf(body);
    const before = processesOf(body.session_id).find(({ command }) => command.startsWith('xterm'));
    const { app_id, outcome } = await swap(body, spec(args));
    expect(await outcome()).toMatchObject({ swap: { app_id, result: 'rolled_back', error } });
    expect(processesOf(body.session_id)).toContainEqual(before);
    expect(processesOf(body.session_id).some(({ command }) => command === 'sleep 60')).toBe(false);
    await sessions.stop(body);
  });

  test('the old app may end meanwhile: its exit is reported as tolerated, and the swap completes', async () => {
    const body = await running(titled('before'));
    const { outcome } = await swap(body, spec(['/bin/sh', '-c', 'sleep 2; exec xterm -T after']));
    const before = processesOf(body.session_id).find(({ command }) => command.startsWith('xterm -T before'));
    process.kill(before?.pid ?? Number.NaN, 'SIGTERM');
    await control
      .wait(
        'session_trace_event',
        (message) => message.session_id === body.session_id && message.event === 'app.exited',
      )
      .then(({ payload }) => expect(payload).toMatchObject({ policy: 'keep' }));
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    await sessions.stop(body);
  });

  test('with one home the old app ends first; if the new one fails, the old one is restarted', async () => {
    const home = homeOf('shared');
    // If a second copy of this app is started while the first one runs, the second copy exits at once.
    const alone = (title: string) => [
      '/bin/sh',
      '-c',
      `exec 9>"$HOME/lock"; flock -n 9 || exit 9; exec xterm -T ${title}`,
    ];
    const body = await running(alone('before'), { home });
    const { outcome } = await swap(body, spec(alone('after'), { home }));
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    expect([runs(body, 'before'), runs(body, 'after')]).toEqual([false, true]);
    const failing = await swap(body, spec(['/bin/sh', '-c', 'exit 4'], { home }));
    expect(await failing.outcome()).toMatchObject({ swap: { result: 'rolled_back' } });
    await expect.poll(() => runs(body, 'after')).toBe(true);
    await sessions.stop(body);
  });

  test('the new app gets its own home, and the former home is free for the next session at once', async () => {
    const body = await running(['/bin/sh', '-c', 'echo a > "$HOME/who"; exec xterm -T before'], {
      home: homeOf('first'),
    });
    const { outcome } = await swap(
      body,
      spec(['/bin/sh', '-c', 'echo b > "$HOME/who"; exec xterm -T after'], { home: homeOf('second') }),
    );
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    const next = assignment(['/bin/sh', '-c', 'cat "$HOME/who"; exit 1']);
    next.app.home = homeOf('first');
    await sessions.launch(next);
    const end = await sessions.ended(next);
    expect([end.failure_code, end.app_log_tail]).toEqual(['app_exited_early', 'a']);
    await sessions.stop(body);
    if (root) expect((await stat(homeOf('second').ref)).uid).toBe(0);
    expect(await readFile(join(homeOf('second').ref, 'who'), 'utf8')).toBe('b\n');
  });

  test('a home that another session keeps for 10 s: rolled back', async () => {
    const holder = await running(titled('holder'), { home: homeOf('held') });
    const body = await running(titled('before'));
    const { ack, outcome } = await swap(body, spec(titled('after'), { home: homeOf('held') }));
    expect(ack).toMatchObject({ ok: true });
    expect(await outcome()).toMatchObject({
      swap: {
        result: 'rolled_back',
        error: 'another session did not release the home of the app within 10 s',
      },
    });
    expect(runs(body, 'before')).toBe(true);
    await Promise.all([sessions.stop(body), sessions.stop(holder)]);
  }, 30_000);

  test('a home that another session releases meanwhile is waited for', async () => {
    const holder = await running(titled('holder'), { home: homeOf('handed') });
    const body = await running(titled('before'));
    const { outcome } = await swap(body, spec(titled('after'), { home: homeOf('handed') }));
    await sessions.stop(holder);
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    await sessions.stop(body);
  });

  test('a stop interrupts it, and nothing of either app is left', async () => {
    const body = await running(titled('before'), { home: homeOf('old') });
    await swap(body, spec(['sleep', '600'], { home: homeOf('new') }));
    await sessions.stop(body);
  });

  test('only one at a time; a repeat of the same swap is not a second one', async () => {
    const body = await running(titled('before'));
    const slow = spec(['/bin/sh', '-c', 'sleep 1; exec xterm -T after']);
    const first = await swap(body, slow);
    expect((await swap(body, spec(titled('other')))).ack).toMatchObject({ ok: false, code: 'busy' });
    expect((await swap(body, slow, first.app_id)).ack).toMatchObject({ ok: true });
    expect(await first.outcome()).toMatchObject({ swap: { app_id: first.app_id, result: 'complete' } });
    expect(processesOf(body.session_id).filter(({ command }) => command.startsWith('xterm'))).toHaveLength(1);
    await sessions.stop(body);
  });

  test.skipIf(!root)('each app has a network of its own, by its own setting', async () => {
    const body = await running(titled('before'), { network: 'none' });
    const network = (title: string) => {
      const app = processesOf(body.session_id).find(({ command }) => command.startsWith(`xterm -T ${title}`));
      return networkOf(app?.pid ?? 0);
    };
    const host = networkOf(process.pid);
    const holderOf = (name: string) =>
      networkHolders(process.pid).find((pid) => networkOf(pid) === name) ?? 0;
    const first = network('before');
    expect([first === host, hasPasta(holderOf(first))]).toEqual([false, false]);
    const { outcome } = await swap(body, spec(titled('after'), { network: 'bridge' }));
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    const second = network('after');
    expect([second === host, second === first, hasPasta(holderOf(second))]).toEqual([false, false, true]);
    expect(holderOf(first)).toBe(0);
    const failing = await swap(body, spec(['/bin/sh', '-c', 'exit 4']));
    expect(await failing.outcome()).toMatchObject({ swap: { result: 'rolled_back' } });
    // The app's network, and the prefetched network.
    await expect.poll(() => networkHolders(process.pid).length).toBe(2);
    await sessions.stop(body);
    expect(holderOf(second)).toBe(0);
  });

  test('an app that this host may not run is refused, without effect', async () => {
    const body = await running(titled('before'));
    const { ack } = await swap(body, spec(titled('after'), { mounts: ['/etc:/x'] }));
    expect(ack).toMatchObject({ ok: false, code: 'policy' });
    await sessions.stop(body);
  });
});
