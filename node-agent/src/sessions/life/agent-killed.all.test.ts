import type { ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterEach, expect, test } from 'vitest';
import { listProcesses } from '../../runtime/proc-table.ts';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import { commandOf, hasPasta, networkHolders, processesOf, tracesOf } from '../../testing/traces.ts';
import { sessionDirs } from '../resources/record.ts';

const UIDS: [number, number] = [71_020, 71_029];
const LIMIT_MS = 10_000;
/** An ordinary user that exists on every Debian. */
const NOBODY = 65_534;
/** uid null: the user that runs the tests. */
const USERS =
  process.getuid?.() === 0
    ? [
        { name: 'root', uid: null },
        { name: 'an ordinary user', uid: NOBODY },
      ]
    : [{ name: 'an ordinary user', uid: null }];

let agents: ChildProcess[] = [];

afterEach(() => {
  for (const agent of agents) agent.kill('SIGKILL');
  agents = [];
});

function startAgent(control: FakeControl, stateDir: string, uid: number | null): ChildProcess {
  const agent = startAgentProcess({ control, stateDir, uids: UIDS, uid });
  agents.push(agent);
  return agent;
}

/** Waits until a condition holds; fails after the limit. */
const until = (message: string, holds: () => boolean) =>
  expect.poll(holds, { message, timeout: LIMIT_MS }).toBe(true);

test.each(USERS)(
  'kill -9 of an agent that runs as $name: its processes end by themselves, files are removed at its next start',
  { timeout: 90_000 },
  async ({ uid }) => {
    const home = await mkdtemp(join(tmpdir(), 'footlight-killed-'));
    await chmod(home, 0o711);
    const stateDir = join(home, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    if (uid !== null) await chown(stateDir, uid, uid);
    const control = await FakeControl.listen();
    try {
      const first = startAgent(control, stateDir, uid);
      await firstHeartbeat(first, control);
      const body = assignment(['/bin/sh', '-c', '(setsid sleep 600 &) ; exec xterm']);
      expect(await control.command(body)).toMatchObject({ ok: true });
      await control.command({ type: 'session_start', session_id: body.session_id });
      const shown = await control.wait(
        'session_state',
        ({ detail, state }) => detail === 'app presented' || state === 'failed',
      );
      expect(shown.state).toBe('running');
      expect(processesOf(body.session_id).length).toBeGreaterThan(4);
      // One network serves the app, and one is prefetched.
      const networks = process.getuid?.() === 0 && uid === null ? 2 : 0;
      const holders = () => networkHolders(first.pid ?? 0).filter(hasPasta);
      await until('networks', () => holders().length === networks);
      const held = holders();
      const workers = listProcesses().filter(
        (row) => row.ppid === first.pid && commandOf(row.pid).includes('worker-main'),
      );
      expect(workers.length).toBeGreaterThan(0);

      first.kill('SIGKILL');
      await until('processes', () => processesOf(body.session_id).length === 0);
      await until('networks', () => held.every((pid) => commandOf(pid) === ''));
      await until('media workers', () => workers.every(({ pid }) => !commandOf(pid).includes('worker-main')));
      expect(await readdir(join(stateDir, 'sessions'))).toEqual([
        basename(sessionDirs(stateDir, body.session_id).root),
      ]);

      const from = control.messages.length;
      startAgent(control, stateDir, uid);
      await until('leftovers', () => readdirSync(join(stateDir, 'sessions')).length === 0);
      const register = await control.wait('register', () => true, from);
      expect(register.sessions).toEqual([]);
      expect(await tracesOf(stateDir, UIDS, [], [body.session_id])).toMatchObject({
        processes: [],
        directories: [],
        sharedMemory: [],
        cgroups: [],
      });
    } finally {
      for (const agent of agents) agent.kill('SIGTERM');
      await Promise.all(agents.map(exitOf));
      await control.close();
      await rm(home, { recursive: true, force: true });
    }
  },
);
