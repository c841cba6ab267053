import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Browser } from '../src/browser/chromium.ts';
import { coloursAt, isNear } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { diagnosticsApp, type Stack } from '../src/stack/stack.ts';

const SMALL = { width: 640, height: 360, fps: 30 };

export async function addPattern(stack: Stack, token: string): Promise<void> {
  // Small pictures leave CPU time for the watching browser.
  await stack.call('POST', '/v1/apps', {
    token,
    body: diagnosticsApp(stack.directory, 'Small pattern', SMALL),
  });
}

/** Launches the small pattern and waits until a new page shows it. */
export async function watchPattern(
  stack: Stack,
  browser: Browser,
  token: string,
): Promise<{ id: string; page: Page }> {
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
  await eventually('the pattern is there', PATIENCE_MS, async () => {
    const [seen] = await coloursAt(page, [[0.06, 0.1]]);
    return isNear(seen, [255, 255, 255]) || null;
  });
  return { id: answer.body.session.id, page };
}
