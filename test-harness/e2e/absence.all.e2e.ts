import { isTerminal } from '@footlight/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear, type Rgb } from '../src/browser/picture.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';
import { addPattern, watchPattern } from './watched-pattern.ts';

/** Seconds without a control plane; the whole drill runs under `scripts/test --long absence`. */
const LONG = process.env.FOOTLIGHT_LONG === '1';
const ABSENCE_SECONDS = LONG ? 120 : 8;
const FIELDS: Rgb[] = [
  [0x30, 0x30, 0x30],
  [0x00, 0xc0, 0x00],
  [0x00, 0x60, 0xff],
];

describe('the control plane is away while a viewer watches', () => {
  let stack: Stack;
  let browser: Browser;
  let token: string;

  beforeAll(async () => {
    stack = await startStack({ apps: [] });
    token = (await stack.claim()).token;
    browser = await startBrowser({ width: 960, height: 540 });
    await addPattern(stack, token);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  const launchAndWatch = () => watchPattern(stack, browser, token);
  const read = async (id: string) => (await stack.call('GET', `/v1/sessions/${id}`, { token })).body.session;
  const isOver = async (id: string) => isTerminal((await read(id)).state) || null;

  test(`the control plane is killed for ${ABSENCE_SECONDS} s: ${LONG ? 'no second without new frames' : 'the picture continues'}; keys, stop and relaunch work afterwards`, {
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
    // Only the long form checks every second, because other tests may slow down the short form.
    const fewest = LONG ? Math.min(...perSecond) : Math.max(...perSecond.slice(-2));
    expect(fewest, `frames in each second: ${perSecond.join(' ')}`).toBeGreaterThan(0);

    // The agent reconnects within 15 s, even after a long absence.
    await eventually('the host is back', PATIENCE_MS, async () => {
      const { body } = await stack.call('GET', '/v1/hosts', { token });
      return (body.items[0]?.status === 'online' && body.items[0].capacity !== null) || null;
    });
    const session = await eventually('the session is running in the API', PATIENCE_MS, async () => {
      const answer = await stack.call('GET', `/v1/sessions/${id}`, { token });
      return answer.body.session.state === 'running' &&
        answer.body.session.state_detail !== 'host_unreachable'
        ? answer.body.session
        : null;
    });
    expect(session.id).toBe(id);

    await page.bringToFront();
    await page.keyboard.press('KeyA');
    await eventually('a key still arrives', PATIENCE_MS, async () => {
      const [seen] = await coloursAt(page, [[0.25, 0.85]]);
      return isNear(seen, FIELDS[1] ?? [0, 0, 0]) || null;
    });
    const deleted = await eventually('the agent is back', PATIENCE_MS, async () => {
      const answer = await stack.call('DELETE', `/v1/sessions/${id}`, { token });
      return answer.status === 202 ? answer : null;
    });
    expect(deleted.body.session.state).toBe('stopping');
    await eventually('the session is stopped', PATIENCE_MS, () => isOver(id));
    expect(await read(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
    await page.close();

    const again = await launchAndWatch();
    await stack.call('DELETE', `/v1/sessions/${again.id}`, { token });
    await eventually('the next session is stopped too', PATIENCE_MS, () => isOver(again.id));
    await again.page.close();
  });
});
