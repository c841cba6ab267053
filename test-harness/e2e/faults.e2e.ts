import path from 'node:path';
import { isTerminal } from '@footlight/protocol';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear, type Rgb } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { descendants, type HostTraces, hostTraces, isRunning } from '../src/stack/host-traces.ts';
import { eventually } from '../src/stack/program.ts';
import { diagnosticsApp, type Stack, startStack } from '../src/stack/stack.ts';

/** Seconds without a control plane; the whole drill runs under `scripts/test --long absence`. */
const LONG = process.env.FOOTLIGHT_LONG === '1';
const ABSENCE_SECONDS = LONG ? 120 : 8;
const FIELDS: Rgb[] = [
  [0x30, 0x30, 0x30],
  [0x00, 0xc0, 0x00],
  [0x00, 0x60, 0xff],
];

const isWorker = (command: string) => command.includes('worker-main');
const isApp = (command: string) => command.includes('apps/diagnostics.mjs') && !command.startsWith('setpriv');

const SMALL = { width: 640, height: 360, fps: 30 };

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
    before = hostTraces(stack.agent.pid, agentDirectory());
    // Small pictures leave this machine's cores to the watching browser.
    await stack.call('POST', '/v1/apps', {
      token,
      body: diagnosticsApp(stack.directory, 'Small pattern', SMALL),
    });
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  async function launchAndWatch(): Promise<{ id: string; page: Page }> {
    const apps = await stack.call('GET', '/v1/apps', { token });
    const app = apps.body.items.find((item: { name: string }) => item.name === 'Small pattern');
    const answer = await stack.call('POST', '/v1/sessions', {
      token,
      body: { app_id: app.id, stream: SMALL },
    });
    expect(answer.status).toBe(201);
    const page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`${stack.httpsUrl}/app/session/${answer.body.session.id}`);
    await eventually('the pattern is there', 20_000, async () => {
      const [seen] = await coloursAt(page, [[0.06, 0.1]]);
      return isNear(seen, [255, 255, 255]) || null;
    });
    return { id: answer.body.session.id, page };
  }

  const read = async (id: string) => (await stack.call('GET', `/v1/sessions/${id}`, { token })).body.session;
  const isOver = async (id: string) => isTerminal((await read(id)).state) || null;

  test(`the control plane is killed for ${ABSENCE_SECONDS} s: ${LONG ? 'no second without new frames' : 'the picture goes on'}; keys, stop and relaunch work afterwards`, {
    timeout: (ABSENCE_SECONDS + 120) * 1000,
  }, async () => {
    const { id, page } = await launchAndWatch();
    await stack.control.kill('SIGKILL');
    const perSecond: number[] = [];
    let last = await framesShown(page);
    for (let second = 0; second < ABSENCE_SECONDS; second++) {
      await page.waitForTimeout(1000);
      const now = await framesShown(page);
      perSecond.push(now - last);
      last = now;
    }
    await stack.startControl();
    await page.waitForTimeout(1000);
    perSecond.push((await framesShown(page)) - last);
    // Seconds are judged where nothing else runs.
    const fewest = LONG ? Math.min(...perSecond) : Math.max(...perSecond.slice(-2));
    expect(fewest, `frames in each second: ${perSecond.join(' ')}`).toBeGreaterThan(0);

    // The agent dials again after at most 15 s, however long it had to try before.
    await eventually('the host is back', 30_000, async () => {
      const { body } = await stack.call('GET', '/v1/hosts', { token });
      return (body.items[0]?.status === 'online' && body.items[0].capacity !== null) || null;
    });
    const session = await eventually('the session is running in the API', 20_000, async () => {
      const answer = await stack.call('GET', `/v1/sessions/${id}`, { token });
      return answer.body.session.state === 'running' &&
        answer.body.session.state_detail !== 'host_unreachable'
        ? answer.body.session
        : null;
    });
    expect(session.id).toBe(id);

    await page.bringToFront();
    await page.keyboard.press('KeyA');
    await eventually('a key still arrives', 10_000, async () => {
      const [seen] = await coloursAt(page, [[0.25, 0.85]]);
      return isNear(seen, FIELDS[1] ?? [0, 0, 0]) || null;
    });
    const deleted = await eventually('the agent is back', 20_000, async () => {
      const answer = await stack.call('DELETE', `/v1/sessions/${id}`, { token });
      return answer.status === 202 ? answer : null;
    });
    expect(deleted.body.session.state).toBe('stopping');
    await eventually('the session is stopped', 10_000, () => isOver(id));
    expect(await read(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
    await page.close();

    const again = await launchAndWatch();
    await stack.call('DELETE', `/v1/sessions/${again.id}`, { token });
    await eventually('the next session is stopped too', 10_000, () => isOver(again.id));
    await again.page.close();
  });

  test('a media worker is killed: its session fails with a failure code, another one goes on', async () => {
    const known = new Set(workers(stack));
    const one = await launchAndWatch();
    const worker = await eventually('its worker', 10_000, () => busyWorker(stack, known));
    const other = await launchAndWatch();
    const from = await framesShown(other.page);
    process.kill(worker, 'SIGKILL');
    await eventually('the session has failed', 10_000, () => isOver(one.id));
    expect(await read(one.id)).toMatchObject({ state: 'failed', failure_code: 'media_worker_crashed' });
    await one.page.getByText('Launch again').waitFor();
    await other.page.bringToFront();
    await eventually(
      'the other picture moves on',
      10_000,
      async () => (await framesShown(other.page)) > from + 30 || null,
    );
    expect((await read(other.id)).state).toBe('running');
    await stack.call('DELETE', `/v1/sessions/${other.id}`, { token });
    await eventually('it stops', 10_000, () => isOver(other.id));
    await one.page.close();
    await other.page.close();
  });

  test('the agent is killed: workers and apps are gone within 10 s by themselves, the rest within 10 s of its next start', async () => {
    const { id, page } = await launchAndWatch();
    const family = descendants(stack.agent.pid).filter(([, command]) => isWorker(command) || isApp(command));
    expect(family.some(([, command]) => isApp(command))).toBe(true);
    await stack.agent.kill('SIGKILL');
    await eventually(
      'workers and apps are gone',
      10_000,
      () => family.every(([pid]) => !isRunning(pid)) || null,
    );
    await stack.startAgent();
    await eventually('everything else is gone', 10_000, () => {
      const now = hostTraces(stack.agent.pid, agentDirectory());
      return JSON.stringify(now) === JSON.stringify(before) || null;
    }).catch(() => expect(hostTraces(stack.agent.pid, agentDirectory())).toEqual(before));
    await eventually('the session has ended here too', 10_000, () => isOver(id));
    expect(await read(id)).toMatchObject({ state: 'failed', failure_code: 'agent_restarted' });
    await page.close();
  });
});

function workers(stack: Stack): number[] {
  return descendants(stack.agent.pid)
    .filter(([, command]) => isWorker(command))
    .map(([pid]) => pid);
}

/** The worker that was warm before the launch serves it now; the new one is the next to be warm. */
function busyWorker(stack: Stack, known: ReadonlySet<number>): number | null {
  return workers(stack).find((pid) => known.has(pid)) ?? null;
}
