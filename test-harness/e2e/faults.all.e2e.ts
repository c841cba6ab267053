import path from 'node:path';
import { isTerminal } from '@footlight/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { framesShown } from '../src/browser/picture.ts';
import {
  descendants,
  type HostTraces,
  isRunning,
  nothingLeft,
  steadyTraces,
} from '../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';
import { addPattern, watchPattern } from './watched-pattern.ts';

const isWorker = (command: string) => command.includes('worker-main');
const isApp = (command: string) => command.includes('apps/diagnostics.mjs') && !command.startsWith('setpriv');

describe('a process dies while a viewer watches', () => {
  let stack: Stack;
  let browser: Browser;
  let token: string;
  let before: HostTraces;
  const agentDirectory = () => path.join(stack.directory, 'agent');

  beforeAll(async () => {
    stack = await startStack({ apps: [] });
    token = (await stack.claim()).token;
    browser = await startBrowser({ width: 960, height: 540 });
    before = await eventually('the helpers of the agent run', PATIENCE_MS, () =>
      steadyTraces(stack.agent.pid, agentDirectory()),
    );
    await addPattern(stack, token);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  const launchAndWatch = () => watchPattern(stack, browser, token);
  const read = async (id: string) => (await stack.call('GET', `/v1/sessions/${id}`, { token })).body.session;
  const isOver = async (id: string) => isTerminal((await read(id)).state) || null;

  test('a media worker is killed: its session fails with a failure code, another session continues', async () => {
    const known = new Set(workers(stack));
    const one = await launchAndWatch();
    const worker = await eventually('its worker', PATIENCE_MS, () => busyWorker(stack, known));
    const other = await launchAndWatch();
    const from = await framesShown(other.page);
    process.kill(worker, 'SIGKILL');
    await eventually('the session has failed', PATIENCE_MS, () => isOver(one.id));
    expect(await read(one.id)).toMatchObject({ state: 'failed', failure_code: 'media_worker_crashed' });
    await one.page.getByText('Launch again').waitFor();
    await other.page.bringToFront();
    await eventually(
      'the other picture moves on',
      PATIENCE_MS,
      async () => (await framesShown(other.page)) > from + 30 || null,
    );
    expect((await read(other.id)).state).toBe('running');
    await stack.call('DELETE', `/v1/sessions/${other.id}`, { token });
    await eventually('it stops', PATIENCE_MS, () => isOver(other.id));
    await one.page.close();
    await other.page.close();
  });

  test('the agent is killed: workers and apps end by themselves, the rest at its next start', async () => {
    const { id, page } = await launchAndWatch();
    const family = descendants(stack.agent.pid).filter(([, command]) => isWorker(command) || isApp(command));
    expect(family.some(([, command]) => isApp(command))).toBe(true);
    await stack.agent.kill('SIGKILL');
    await eventually(
      'workers and apps are gone',
      PATIENCE_MS,
      () => family.every(([pid]) => !isRunning(pid)) || null,
    );
    await stack.startAgent();
    await nothingLeft(stack.agent.pid, agentDirectory(), before);
    await eventually('the session has ended here too', PATIENCE_MS, () => isOver(id));
    expect(await read(id)).toMatchObject({ state: 'failed', failure_code: 'agent_restarted' });
    await page.close();
  });
});

function workers(stack: Stack): number[] {
  return descendants(stack.agent.pid)
    .filter(([, command]) => isWorker(command))
    .map(([pid]) => pid);
}

/**
 * Process id of the worker that was warm before the launch: it serves the session. A worker that started later is the
 * next warm one.
 */
function busyWorker(stack: Stack, known: ReadonlySet<number>): number | null {
  return workers(stack).find((pid) => known.has(pid)) ?? null;
}
