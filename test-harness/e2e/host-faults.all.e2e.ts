import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendants, isRunning } from '../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
/**
 * Seconds for which the agent is stopped: all values exceed the time-outs for a display or a worker. Some are shorter
 * and some are longer than 20 s, after which a host counts as away.
 */
const STOPS = LONG ? ([15, 25, 60] as const) : ([7] as const);
const BOOT_TIMEOUT_SECS = 6;
const AWAY_AFTER_SECS = 20;

describe('a resource of the host fails while a viewer watches', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let pattern: string;

  beforeAll(async () => {
    stack = await startStack({
      agentEnv: {
        SERVICE_ENCODE_SLOTS: '4',
        SERVICE_APP_BOOT_TIMEOUT_SECS: String(BOOT_TIMEOUT_SECS),
      },
    });
    sessions = new PersonSessions(stack, (await stack.claim()).token);
    pattern = await sessions.app('Pattern', null);
  });

  afterAll(async () => {
    await sessions?.close();
    await stack?.stop();
  });

  async function running(appId: string): Promise<string> {
    const { id } = await sessions.launch(appId);
    await sessions.reaches(id, 'app presented');
    return id;
  }

  const shell = (name: string, script: string) => sessions.app(name, ['/bin/sh', '-c', script]);
  const below = (word: string) =>
    descendants(stack.agent.pid).filter(([, command]) => command.split(' ')[0]?.endsWith(word));
  function one(word: string): number {
    const found = below(word);
    if (found.length !== 1) throw new Error(`${found.length} of ${word}`);
    return found[0]?.[0] ?? 0;
  }
  /** Ends the only program with this command line. The app waits for the end of this program, and then continues. */
  function killProgram(command: string): void {
    const found = descendants(stack.agent.pid).filter(([, other]) => other === command);
    expect(found).toHaveLength(1);
    process.kill(found[0]?.[0] ?? 0, 'SIGTERM');
  }
  const hostStatus = async () => (await sessions.call('GET', '/v1/hosts')).body.items[0].status;

  test.each(STOPS)(
    'the agent stands still for %d s: the session is kept and its viewer too',
    {
      timeout: 200_000,
    },
    async (seconds) => {
      const id = await running(pattern);
      const viewer = await sessions.watch(id);
      const node = agentProcess(stack.agent.pid);
      process.kill(node, 'SIGSTOP');
      const seen = new Set<string>();
      try {
        const until = performance.now() + seconds * 1000;
        const before = viewer.video.counters.frames;
        while (performance.now() < until) {
          seen.add(await hostStatus());
          await viewer.frames(10);
        }
        // The worker is a separate process, so the picture does not depend on the agent.
        expect(viewer.video.counters.frames - before).toBeGreaterThan(LONG ? seconds * 15 : 0);
      } finally {
        process.kill(node, 'SIGCONT');
      }
      expect(seen.has('offline')).toBe(seconds > AWAY_AFTER_SECS);
      await eventually('online again', PATIENCE_MS, async () => (await hostStatus()) === 'online' || null);
      await eventually('the session runs', PATIENCE_MS, async () => {
        const { state, state_detail } = await sessions.read(id);
        return (state === 'running' && state_detail !== 'host_unreachable') || null;
      });
      await viewer.frames(10);
      await sessions.stop(id);
      expect(await sessions.read(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
    },
  );

  test.each(['SIGSTOP', 'SIGKILL'] as const)('the display server gets %s: display_failed', async (signal) => {
    const id = await running(pattern);
    process.kill(one('Xvfb'), signal);
    const end = await sessions.ended(id);
    expect(end).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
  });

  test.each(['SIGSTOP', 'SIGSEGV'] as const)(
    'a media worker gets %s: media_worker_crashed, and its neighbour plays on',
    async (signal) => {
      const known = new Set(workers(stack.agent.pid));
      const id = await running(pattern);
      const worker = workers(stack.agent.pid).find((pid) => known.has(pid));
      if (worker === undefined) throw new Error('no worker');
      const other = await running(pattern);
      const neighbour = await sessions.watch(other);
      process.kill(worker, signal);
      expect(await sessions.ended(id)).toMatchObject({
        state: 'failed',
        failure_code: 'media_worker_crashed',
      });
      await neighbour.frames(30);
      expect(await sessions.read(other)).toMatchObject({ state: 'running' });
      await sessions.stop(other);
    },
  );

  test('the sound server is killed: the session and its picture continue', async () => {
    const id = await running(pattern);
    const viewer = await sessions.watch(id);
    await eventually('sound', PATIENCE_MS, () => viewer.audio.packets > 20 || null);
    process.kill(one('pulseaudio'), 'SIGKILL');
    await viewer.frames(46, 3_000);
    expect(await sessions.read(id)).toMatchObject({ state: 'running' });
    await sessions.stop(id);
  });

  test('an app that daemonizes and ignores SIGTERM: nothing of it is left after DELETE', async () => {
    const id = await running(
      await shell(
        'Clinging',
        `trap '' TERM; setsid sh -c 'trap "" TERM; sleep 4242 & wait; sleep 4242' & (setsid setsid sleep 4242 &); xterm & while :; do sleep 4242; done`,
      ),
    );
    const family = descendants(stack.agent.pid).filter(([, command]) => /4242|xterm/.test(command));
    expect(family.length).toBeGreaterThanOrEqual(4);
    await sessions.call('DELETE', `/v1/sessions/${id}`);
    await eventually('all are gone', PATIENCE_MS, () => family.every(([pid]) => !isRunning(pid)) || null);
    expect(await sessions.ended(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
    expect(below('Xvfb')).toEqual([]);
  });

  test('an app that exits normally after drawing: stopped, with its last output', async () => {
    const id = await running(await shell('Leaving', 'xterm -e "sleep 4241"; echo last words; exit 0'));
    killProgram('sleep 4241');
    const end = await sessions.ended(id);
    expect(end).toMatchObject({ state: 'stopped', end_reason: 'app_exited' });
    expect(end.app_log_tail).toContain('last words');
  });

  test.each([
    ['exits with a status', 'exit 7'],
    ['is killed by a signal', 'kill -SEGV $$'],
  ])('an app that %s after it drew: app_crashed, with its last output', async (name, end) => {
    const id = await running(await shell(name, `xterm & sleep 4241; echo dying; ${end}`));
    killProgram('sleep 4241');
    const session = await sessions.ended(id);
    expect(session).toMatchObject({ state: 'failed', failure_code: 'app_crashed' });
    expect(session.app_log_tail).toContain('dying');
  });

  test('an app that never draws: app_never_presented', async () => {
    const { id } = await sessions.launch(await sessions.app('Blank', ['sleep', '600']));
    expect(await sessions.ended(id)).toMatchObject({ state: 'failed', failure_code: 'app_never_presented' });
  });

  test('a viewer vanishes without closing and comes back: the same session, from the next keyframe', async () => {
    const id = await running(pattern);
    const clientId = '44444444-4444-4444-8444-444444444444';
    const first = await sessions.watch(id, { clientId });
    // The viewer's socket and media end at the same time, as when a laptop is closed.
    await first.close();
    // The host waits for a missing viewer in real time.
    await new Promise((resolve) => setTimeout(resolve, LONG ? 60_000 : 1_500));
    const second = await sessions.watch(id, { clientId });
    await second.frames(20);
    expect(second.video.counters.keyframes).toBeGreaterThan(0);
    expect(await sessions.read(id)).toMatchObject({ state: 'running' });
    await sessions.stop(id);
  });

  test('only the socket is closed: the picture never stops, and the connection is resumed', async () => {
    const id = await running(pattern);
    const viewer = await sessions.watch(id);
    const connection = viewer.pcId;
    viewer.dropSocket();
    await viewer.frames(10);
    await viewer.connect(await sessions.access(id));
    expect(await viewer.message('resumed')).toMatchObject({ pc_id: connection });
    await viewer.frames(10);
    await sessions.stop(id);
  });
});

/** Media workers, including the warm one that serves the next launch. */
function workers(agentPid: number): number[] {
  return descendants(agentPid)
    .filter(([, command]) => command.includes('worker-main'))
    .map(([pid]) => pid);
}

/** The agent's process, a child of the start scripts. */
function agentProcess(pid: number): number {
  const isAgent = (candidate: number) =>
    /main\.js\0run/.test(readFileSync(`/proc/${candidate}/cmdline`, 'utf8')) &&
    !/^setpriv/.test(readFileSync(`/proc/${candidate}/cmdline`, 'utf8'));
  const found = [pid, ...descendants(pid).map(([child]) => child)].find(isAgent);
  if (found === undefined) throw new Error('no agent process');
  return found;
}
