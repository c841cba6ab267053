import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../agent.ts';
import { makeCgroup, removeCgroupDirs } from '../../runtime/cgroups.ts';
import { sessionProcesses } from '../../runtime/proc-table.ts';
import { startTestAgent } from '../../testing/test-agent.ts';
import { commandOf } from '../../testing/traces.ts';

const UIDS: [number, number] = [71_310, 71_310];

let control: FakeControl;
let agent: Agent;
let stateDir: string;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'footlight-confined-'));
  await chmod(stateDir, 0o711);
  control = await FakeControl.listen();
  agent = await startTestAgent({ control, stateDir: join(stateDir, 'state'), uids: UIDS });
  await control.wait('heartbeat');
});

afterAll(async () => {
  await agent?.stop();
  await control?.close();
  await rm(stateDir, { recursive: true, force: true });
});

test.runIf(process.getuid?.() === 0)(
  'every process of a session has a filter and a control group, every helper a memory limit, and only the media worker uses the network of the host',
  async () => {
    const body = assignment(['xterm']);
    await control.command(body);
    await control.command({ type: 'session_start', session_id: body.session_id });
    await control.wait('session_state', ({ detail }) => detail === 'app presented');
    const processes = sessionProcesses(body.session_id, UIDS[0]).map(({ pid }) => ({
      command: commandOf(pid).replace(/^(\S*\/)?([\w-]+).*/s, '$2'),
      hasLimit: /^Max data size +\d/m.test(readFileSync(`/proc/${pid}/limits`, 'utf8')),
      groups: readFileSync(`/proc/${pid}/cgroup`, 'utf8'),
      network: readlinkSync(`/proc/${pid}/ns/net`),
      threads: readdirSync(`/proc/${pid}/task`).map((thread) => statusOf(pid, thread)),
    }));
    const helpers = processes.filter(({ command }) => HELPERS.includes(command));
    expect(helpers.map(({ command }) => command).sort()).toEqual(HELPERS);
    const open = processes.flatMap(({ command, threads }) =>
      threads.filter((status) => !CONFINED.every((line) => line.test(status))).map(() => command),
    );
    expect(open).toEqual([]);
    expect(processes.filter(({ hasLimit }) => !hasLimit).map(({ command }) => command)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(node|Xvfb|matchbox-window-manager|pulseaudio)$/)]),
    );
    const outside = processes.filter(({ groups }) => !groups.includes(body.session_id));
    if (canLimit()) expect(outside.map(({ command }) => command)).toEqual([]);
    const host = readlinkSync('/proc/self/ns/net');
    expect(processes.filter(({ network }) => network === host).map(({ command }) => command)).toEqual([
      'node',
    ]);
    expect(new Set(helpers.map(({ network }) => network)).size).toBe(HELPERS.length);
  },
);

function canLimit(): boolean {
  const group = makeCgroup('probe-of-the-helpers', { memoryBytes: 64 * 1024 * 1024, cpus: 0 });
  removeCgroupDirs(group?.dirs ?? []);
  return group !== null;
}

const HELPERS = ['Xvfb', 'matchbox-window-manager', 'pulseaudio'];
const CONFINED = [/^Seccomp:\s+2$/m, /^NoNewPrivs:\s+1$/m];

function statusOf(pid: number, thread: string): string {
  return readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
}
