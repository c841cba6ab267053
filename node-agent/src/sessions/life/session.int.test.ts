import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../../agent.ts';
import { setupRequest } from '../../display/cookie.ts';
import { socketMark } from '../../display/display-number.ts';
import { holdAbstractName } from '../../platform/unix-names.ts';
import { makeCgroup, removeCgroupDirs } from '../../runtime/cgroups.ts';
import { readProcess } from '../../runtime/proc-table.ts';
import { assignment } from '../../testing/assignments.ts';
import { ControlStandIn } from '../../testing/control-stand-in.ts';
import { startTestAgent } from '../../testing/test-agent.ts';
import {
  type DisplayTrace,
  hasPasta,
  NO_TRACES,
  networkHolders,
  networkOf,
  processesOf,
  tracesOf,
} from '../../testing/traces.ts';

const UIDS: [number, number] = [71_000, 71_009];
const root = process.getuid?.() === 0;

let control: ControlStandIn;
let agent: Agent;
let stateDir: string;
const displays: DisplayTrace[] = [];

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'footlight-agent-'));
  await chmod(stateDir, 0o711);
  control = await ControlStandIn.listen();
  agent = await startTestAgent({ control, stateDir: join(stateDir, 'state'), uids: UIDS });
  await control.wait('heartbeat');
});

afterEach(async () => {
  expect(await tracesOf(join(stateDir, 'state'), UIDS, displays, sessionIds())).toEqual(NO_TRACES);
});

afterAll(async () => {
  await agent?.stop();
  await control?.close();
  await rm(stateDir, { recursive: true, force: true });
});

function sessionIds(): string[] {
  return control.messages.flatMap((message) =>
    message.type === 'session_state' ? [message.session_id] : [],
  );
}

type Body = ReturnType<typeof assignment>;

/** Assigns and starts; the ids are known before anything is sent, so no report can be missed. */
async function launch(body: Body): Promise<void> {
  expect(await control.command(body)).toMatchObject({ ok: true });
  expect(await control.command({ type: 'session_start', session_id: body.session_id })).toMatchObject({
    ok: true,
  });
}

async function reached(body: Body, detail: string) {
  const report = await control.wait(
    'session_state',
    (message) =>
      message.session_id === body.session_id && (message.detail === detail || isOver(message.state)),
  );
  if (isOver(report.state)) throw new Error(`ended instead: ${JSON.stringify(report)}`);
  return report;
}

function ended(body: Body) {
  return control.wait(
    'session_state',
    (report) => report.session_id === body.session_id && isOver(report.state),
  );
}

function isOver(state: string): boolean {
  return state === 'stopped' || state === 'failed';
}

async function stop(body: Body): Promise<void> {
  await control.command({ type: 'session_stop', session_id: body.session_id, reason: 'user_requested' });
  expect(await ended(body)).toMatchObject({ state: 'stopped', reason: 'user_requested' });
}

function details(body: Body): string[] {
  return control.messages.flatMap((message) =>
    message.type === 'session_state' && message.session_id === body.session_id && message.detail !== undefined
      ? [message.detail]
      : [],
  );
}

async function displayOf(body: Body): Promise<{ number: number; pid: number }> {
  const server = processesOf(body.session_id).find(({ command }) => command.startsWith('Xvfb'));
  const uid = readProcess(server?.pid ?? 0)?.uid;
  const client = processesOf(body.session_id).find(({ command }) => command.startsWith('matchbox'));
  if (!server || !client) throw new Error(`no display for uid ${uid}`);
  return { number: await displayNumber(client.pid), pid: server.pid };
}

async function displayNumber(pid: number): Promise<number> {
  const text = processEnvironment(pid).get('DISPLAY') ?? '';
  const number = Number(text.slice(1));
  displays.push({ number, socket: await socketMark(number) });
  return number;
}

function processEnvironment(pid: number): Map<string, string> {
  const text = readFileSync(`/proc/${pid}/environ`, 'utf8');
  return new Map(
    text.split('\0').map((entry) => [entry.split('=')[0] ?? '', entry.slice(entry.indexOf('=') + 1)]),
  );
}

/** Leaves a process no more memory than it has; where there are no control groups to write it may have no more. */
function starve(pid: number): () => Promise<void> {
  const group = makeCgroup(`starved-${pid}`, { memoryBytes: 64 * 1024, cpus: 0 });
  if (group === null) {
    execFileSync('prlimit', ['--pid', String(pid), '--as=1048576']);
    return async () => undefined;
  }
  for (const file of group.procsFiles) writeFileSync(file, String(pid));
  // The kernel counts a process as a member for a moment after it was reaped.
  return () => expect.poll(() => removeCgroupDirs(group.dirs)).toEqual([]);
}

describe('one session', () => {
  test('a window on its own display: every step in order, then nothing is left', async () => {
    const body = assignment(['xterm']);
    await launch(body);
    expect(await reached(body, 'app presented')).toMatchObject({ state: 'running' });
    await displayOf(body);
    expect(details(body)).toEqual([
      'preparing home',
      'starting display',
      'starting app',
      'starting encoder',
      'app booting',
      'app presented',
    ]);
    await stop(body);
  });

  test('an app that ends before it drew fails with what it wrote', async () => {
    const body = assignment([
      '/bin/sh',
      '-c',
      'printf "\\033[31mfirst\\033[0m\\nlast\\007 words\\n"; exit 3',
    ]);
    await launch(body);
    expect(await ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_exited_early',
      app_log_tail: 'first\nlast words',
    });
  });

  test('an app that crashes after it drew', async () => {
    const body = assignment(
      ['/bin/sh', '-c', 'xterm & while [ ! -e "$HOME/go" ]; do sleep 0.1; done; echo dying; exit 7'],
      {},
    );
    await launch(body);
    await reached(body, 'app presented');
    const home =
      processEnvironment(
        processesOf(body.session_id).find(({ command }) => command.startsWith('xterm'))?.pid ?? 0,
      ).get('HOME') ?? '';
    await execa('touch', [join(home, 'go')]);
    expect(await ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_crashed',
      error: 'the app exited with status 7',
      app_log_tail: expect.stringContaining('dying'),
    });
  });

  test.each([
    ['an app that leaves in order after it drew', ['xterm', '-e', 'sleep 60']],
    [
      'a launcher that hands over to a program: the session ends with that program',
      ['/bin/sh', '-c', 'xterm -e sleep 60 & exit 0'],
    ],
  ])('%s', async (_what, args) => {
    const body = assignment(args);
    await launch(body);
    await reached(body, 'app presented');
    // xterm leaves with the program that it runs.
    const inside = processesOf(body.session_id).find(({ command }) => command === 'sleep 60');
    if (!inside) throw new Error('xterm runs nothing');
    process.kill(inside.pid, 'SIGTERM');
    expect(await ended(body)).toMatchObject({ state: 'stopped', reason: 'app_exited' });
  });

  test('an app that ends in order before it drew fails with a sentence of its own', async () => {
    const body = assignment(['true']);
    await launch(body);
    expect(await ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_exited_early',
      error: 'the app ended without showing a window (exit status 0)',
    });
  });

  test.each([
    ['forks away', ''],
    // Its end would have been the app's end too.
    ['stops what started it', 'kill -STOP $PPID; '],
  ])('an app that ignores SIGTERM and %s is gone within 3 s', async (_what, first) => {
    const body = assignment([
      '/bin/sh',
      '-c',
      `trap "" TERM; ${first}setsid sh -c 'trap "" TERM; sleep 600' & xterm & while :; do sleep 1; done`,
    ]);
    await launch(body);
    await reached(body, 'app presented');
    const began = performance.now();
    await stop(body);
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test('an app that draws nothing in time', async () => {
    const body = assignment(['sleep', '60'], { app_boot_timeout_secs: 2 });
    await launch(body);
    expect(await ended(body)).toMatchObject({ state: 'failed', failure_code: 'app_never_presented' });
  });

  test('no viewer connects within its idle time-out', async () => {
    const body = assignment(['xterm'], { idle_timeout_secs: 1 });
    await launch(body);
    expect(await ended(body)).toMatchObject({ state: 'stopped', reason: 'idle_timeout' });
  });

  test('a display server that hangs is noticed within 8 s', async () => {
    const body = assignment(['xterm']);
    await launch(body);
    await reached(body, 'app presented');
    process.kill((await displayOf(body)).pid, 'SIGSTOP');
    const began = performance.now();
    expect(await ended(body)).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
    // Five seconds of silence, and then everything has to end.
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  test('a display server that hangs before anything is captured is noticed as well', async () => {
    const body = assignment(['xterm']);
    expect(await control.command(body)).toMatchObject({ ok: true });
    const running = (name: string) =>
      processesOf(body.session_id).find(({ command }) => command.startsWith(name))?.pid;
    await expect.poll(() => running('matchbox')).toBeDefined();
    const { number, pid } = await displayOf(body);
    // A server that never answers has longer. This one refuses whom it does not know, and so it answers.
    const client = connect(`/tmp/.X11-unix/X${number}`);
    client.write(setupRequest(Buffer.alloc(0)));
    await once(client, 'data');
    client.destroy();
    process.kill(pid, 'SIGSTOP');
    const began = performance.now();
    expect(await ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'display_failed',
      // The agent says so, or the media worker where it was connecting or asking just then.
      error: expect.stringMatching(/did not answer (for 5 s|within 5000 ms)/),
    });
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  test('a display server that is killed is what failed, although its clients end as well', async () => {
    const body = assignment(['xterm']);
    await launch(body);
    await reached(body, 'app presented');
    process.kill((await displayOf(body)).pid, 'SIGKILL');
    expect(await ended(body)).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
  });

  test('a stop cuts the preparation short', async () => {
    const body = assignment(['xterm']);
    void control.command(body);
    await stop(body);
  });
});

describe('two sessions', () => {
  test.runIf(root)('one cannot reach the display, the cookie or the sound of the other', async () => {
    const [a, b] = [assignment(['xterm']), assignment(['xterm'])];
    await Promise.all([launch(a), launch(b)]);
    await Promise.all([reached(a, 'app presented'), reached(b, 'app presented')]);
    const app = processesOf(a.session_id).find(({ command }) => command.startsWith('xterm'));
    const other = processesOf(b.session_id).find(({ command }) => command.startsWith('xterm'));
    if (!app || !other) throw new Error('no xterm');
    const { number } = await displayOf(b);
    await displayOf(a);
    const theirs = processEnvironment(other.pid);
    expect(readProcess(app.pid)?.uid).not.toBe(readProcess(other.pid)?.uid);
    // As the app of A, in its namespaces: B's socket is not there, and its files cannot be opened.
    const asA = (...command: string[]) =>
      execa(
        'nsenter',
        [
          '--target',
          String(app.pid),
          '--mount',
          '--pid',
          '--',
          'setpriv',
          '--reuid',
          String(readProcess(app.pid)?.uid),
          '--clear-groups',
          '--',
          ...command,
        ],
        { reject: false },
      );
    expect((await asA('ls', '/tmp/.X11-unix')).stdout).toBe(`X${await displayNumber(app.pid)}`);
    expect((await asA('cat', theirs.get('XAUTHORITY') ?? '')).exitCode).not.toBe(0);
    expect((await asA('ls', theirs.get('XDG_RUNTIME_DIR') ?? '')).exitCode).not.toBe(0);
    expect((await asA('xterm', '-display', `:${number}`, '-e', 'true')).exitCode).not.toBe(0);
    // In the host's own /tmp, with the wrong cookie: the socket is there and the server refuses.
    const uninvited = await execa(
      'setpriv',
      [
        '--reuid',
        String(readProcess(app.pid)?.uid),
        '--clear-groups',
        '--',
        'xterm',
        '-display',
        `:${number}`,
        '-e',
        'true',
      ],
      { reject: false, env: { XAUTHORITY: processEnvironment(app.pid).get('XAUTHORITY') ?? '' } },
    );
    expect(uninvited.exitCode).not.toBe(0);
    // Nobody listens at the abstract name that libxcb tries first, and nobody can.
    expect(holdAbstractName(`/tmp/.X11-unix/X${number}`)).toBe(null);
    await expect(once(connect(`\0/tmp/.X11-unix/X${number}`), 'connect')).rejects.toThrow('ECONNREFUSED');
    await Promise.all([stop(a), stop(b)]);
  });

  test('a home has one holder; its files stay for the next one', async () => {
    const ref = join(stateDir, 'state/homes/alice-00000001/app-00000002');
    const home = { provider: 'local' as const, ref, container_path: '/home' };
    const make = (args: string[]) => {
      const body = assignment(args);
      body.app.home = home;
      return body;
    };
    const first = make(['/bin/sh', '-c', 'echo kept > "$HOME/file"; exec xterm']);
    await launch(first);
    await reached(first, 'app presented');
    expect((await stat(ref)).mode & 0o777).toBe(0o700);
    const second = make(['/bin/sh', '-c', 'cat "$HOME/file"; id -u; exit 1']);
    const launched = launch(second);
    await reached(second, 'waiting for the previous session to release its home');
    await stop(first);
    await launched;
    const end = await ended(second);
    expect(end.app_log_tail?.split('\n')[0]).toBe('kept');
    expect(end.home_bytes).toBeGreaterThan(0);
    if (root) expect((await stat(ref)).uid).toBe(0);
  });

  test.each([
    ['is killed', (pid: number) => void process.kill(pid, 'SIGKILL'), 3_000],
    ['crashes', (pid: number) => void process.kill(pid, 'SIGSEGV'), 3_000],
    ['stands still', (pid: number) => void process.kill(pid, 'SIGSTOP'), null],
    // The kernel tries to find memory first, and that may take seconds.
    ['runs out of memory', starve, null],
  ])('a media worker that %s: only its session ends', async (_what, hurt, limitMs) => {
    const [a, b] = [assignment(['xterm']), assignment(['xterm'])];
    await Promise.all([launch(a), launch(b)]);
    await Promise.all([reached(a, 'app presented'), reached(b, 'app presented')]);
    const uid = readProcess((await displayOf(a)).pid)?.uid;
    await displayOf(b);
    const { stdout } = await execa('pgrep', ['-u', String(uid), '-f', 'worker-main'], { reject: false });
    if (root) {
      const began = performance.now();
      const heal = hurt(Number.parseInt(stdout, 10));
      expect(await ended(a)).toMatchObject({ state: 'failed', failure_code: 'media_worker_crashed' });
      if (limitMs !== null) expect(performance.now() - began).toBeLessThan(limitMs);
      await heal?.();
    } else {
      await stop(a);
    }
    expect(
      control.messages.some(
        (m) => m.type === 'session_state' && m.session_id === b.session_id && isOver(m.state),
      ),
    ).toBe(false);
    await stop(b);
  });
});

describe('a change of app', () => {
  const spec = (args: string[], more: Partial<Body['app']> = {}): Body['app'] => ({
    ...assignment(args).app,
    ...more,
  });
  const titled = (title: string) => ['xterm', '-T', title];
  const runs = (body: Body, title: string) =>
    processesOf(body.session_id).some(({ command }) => command.startsWith(`xterm -T ${title}`));
  async function swap(body: Body, app: Body['app'], app_id: string = randomUUID()) {
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
  async function running(args: string[], more: Partial<Body['app']> = {}): Promise<Body> {
    const body = assignment(args);
    Object.assign(body.app, more);
    await launch(body);
    await reached(body, 'app presented');
    await displayOf(body);
    return body;
  }
  const homeOf = (name: string) => ({
    provider: 'local' as const,
    ref: join(stateDir, `state/homes/alice-00000001/${name}`),
    container_path: '/home',
  });

  test('the new app takes over on the same display when it has drawn, and the old one is gone', async () => {
    const body = await running(titled('before'));
    const display = await displayOf(body);
    const { ack, app_id, outcome } = await swap(body, spec(titled('after')));
    expect(ack).toMatchObject({ ok: true });
    expect(await outcome()).toMatchObject({ state: 'running', swap: { app_id, result: 'complete' } });
    expect([runs(body, 'before'), runs(body, 'after')]).toEqual([false, true]);
    expect(await displayOf(body)).toEqual(display);
    // Asked again it says the same, and does nothing.
    const again = await swap(body, spec(titled('after')), app_id);
    expect(await again.outcome()).toMatchObject({ swap: { app_id, result: 'complete' } });
    const back = await swap(body, spec(titled('third')));
    expect(await back.outcome()).toMatchObject({ swap: { result: 'complete' } });
    expect([runs(body, 'after'), runs(body, 'third')]).toEqual([false, true]);
    await stop(body);
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
    await launch(body);
    await reached(body, 'app presented');
    await displayOf(body);
    const before = processesOf(body.session_id).find(({ command }) => command.startsWith('xterm'));
    const { app_id, outcome } = await swap(body, spec(args));
    expect(await outcome()).toMatchObject({ swap: { app_id, result: 'rolled_back', error } });
    expect(processesOf(body.session_id)).toContainEqual(before);
    expect(processesOf(body.session_id).some(({ command }) => command === 'sleep 60')).toBe(false);
    await stop(body);
  });

  test('the old app may end meanwhile: that is told as kept, and ends nothing', async () => {
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
    await stop(body);
  });

  test('in one home the old app ends first; where the new one fails the old one is started again', async () => {
    const home = homeOf('shared');
    // Whoever comes while the other one still runs exits at once.
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
    await stop(body);
  });

  test('another home comes with the new app, and the former one is free for the next session at once', async () => {
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
    await launch(next);
    const end = await ended(next);
    expect([end.failure_code, end.app_log_tail]).toEqual(['app_exited_early', 'a']);
    await stop(body);
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
    await Promise.all([stop(body), stop(holder)]);
  }, 30_000);

  test('a home that its session gives up meanwhile is waited for', async () => {
    const holder = await running(titled('holder'), { home: homeOf('handed') });
    const body = await running(titled('before'));
    const { outcome } = await swap(body, spec(titled('after'), { home: homeOf('handed') }));
    await stop(holder);
    expect(await outcome()).toMatchObject({ swap: { result: 'complete' } });
    await stop(body);
  });

  test('a stop cuts it short, and nothing of either app is left', async () => {
    const body = await running(titled('before'), { home: homeOf('old') });
    await swap(body, spec(['sleep', '600'], { home: homeOf('new') }));
    await stop(body);
  });

  test('only one at a time; the same one again is no second one', async () => {
    const body = await running(titled('before'));
    const slow = spec(['/bin/sh', '-c', 'sleep 1; exec xterm -T after']);
    const first = await swap(body, slow);
    expect((await swap(body, spec(titled('other')))).ack).toMatchObject({ ok: false, code: 'busy' });
    expect((await swap(body, slow, first.app_id)).ack).toMatchObject({ ok: true });
    expect(await first.outcome()).toMatchObject({ swap: { app_id: first.app_id, result: 'complete' } });
    expect(processesOf(body.session_id).filter(({ command }) => command.startsWith('xterm'))).toHaveLength(1);
    await stop(body);
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
    // The app's own, and one that is kept for the next.
    await expect.poll(() => networkHolders(process.pid).length, { timeout: 10_000 }).toBe(2);
    await stop(body);
    expect(holderOf(second)).toBe(0);
  });

  test('an app that this host may not run is refused, and changes nothing', async () => {
    const body = await running(titled('before'));
    const { ack } = await swap(body, spec(titled('after'), { mounts: ['/etc:/x'] }));
    expect(ack).toMatchObject({ ok: false, code: 'policy' });
    await stop(body);
  });
});

describe('what the agent refuses by itself', () => {
  test.each([
    ['an image without an engine', { image: 'docker.io/library/x@sha256:'.padEnd(91, '0') }, 'image_missing'],
    ['no command', { args: [] }, 'policy'],
    ['mounts', { mounts: ['/etc:/x'] }, 'policy'],
    [
      'a home outside the root',
      { home: { provider: 'local' as const, ref: '/etc/x', container_path: '/h' } },
      'policy',
    ],
    [
      'an engine volume',
      { home: { provider: 'volume' as const, ref: 'service-home-x', container_path: '/h' } },
      'policy',
    ],
  ])('%s', async (_name, app, code) => {
    const body = assignment(['xterm']);
    Object.assign(body.app, app);
    expect(await control.command(body)).toMatchObject({ ok: false, code });
  });

  test('a codec or an encoder that was not proved', async () => {
    const body = assignment(['xterm']);
    body.stream.codec = 'av1';
    expect(await control.command(body)).toMatchObject({ ok: false, code: 'encoder_unavailable' });
  });

  test('a start of a session that is not here; a stop of one is answered with stopped', async () => {
    const session_id = assignment([]).session_id;
    expect(await control.command({ type: 'session_start', session_id })).toMatchObject({
      ok: false,
      code: 'no_such_session',
    });
    expect(await control.command({ type: 'session_stop', session_id, reason: 'admin' })).toMatchObject({
      ok: true,
    });
    await control.wait('session_state', (m) => m.session_id === session_id && m.state === 'stopped');
  });
});
