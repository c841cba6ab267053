import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { expect, test } from 'vitest';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import { processesOf } from '../../testing/traces.ts';
import { listProcesses } from '../proc-table.ts';

const UIDS: [number, number] = [71_330, 71_339];

function coreLimit(pid: number): string {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  return /^Max core file size\s+(\S+\s+\S+)/m.exec(limits)?.[1] ?? '';
}

// The limit is 1, because with a limit of 0 Linux still starts a crash handler (fs/coredump.c).
test('agent, app, helpers and media workers leave no core, not even to a handler', {
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp('/var/tmp/footlight-cores-');
  await chmod(folder, 0o711);
  const control = await FakeControl.listen();
  const stateDir = join(folder, 'state');
  const agent = startAgentProcess({ control, stateDir, uids: UIDS, uid: null });
  try {
    await firstHeartbeat(agent, control);
    const body = assignment(['xterm']);
    expect(await control.command(body)).toMatchObject({ ok: true });
    await control.command({ type: 'session_start', session_id: body.session_id });
    await control.wait('session_state', ({ detail }) => detail === 'app presented');
    const own = listProcesses().flatMap(({ pid, ppid }) => (ppid === agent.pid ? [pid] : []));
    const pids = new Set([agent.pid ?? 0, ...own, ...processesOf(body.session_id).map(({ pid }) => pid)]);
    expect(pids.size).toBeGreaterThan(6);
    expect([...new Set([...pids].map(coreLimit))].map((limit) => limit.split(/\s+/))).toEqual([['1', '1']]);
  } finally {
    agent.kill('SIGTERM');
    await exitOf(agent);
    await control.close();
    await rm(folder, { recursive: true, force: true });
  }
});
