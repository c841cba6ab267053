import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear } from '../src/browser/picture.ts';
import { isGate } from '../src/gate.ts';
import { type PostgresDatabase, type PostgresServer, usePostgres } from '../src/postgres.ts';
import { type HostTraces, nothingLeft, steadyTraces } from '../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';
import { CLICK_FIELD, fieldBecomes, KEY_FIELD, showsBars } from './diagnostics-picture.ts';

const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
const DATABASES = isGate ? (['SQLite'] as const) : (['SQLite', 'Postgres'] as const);

// The tests of the screen run with one database only, because the database does not affect what the screen shows.
describe.each(DATABASES)('a person’s first session, on %s', (database) => {
  const testOnce = test.runIf(database === 'SQLite');
  let server: PostgresServer | null = null;
  let postgres: PostgresDatabase | null = null;
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let before: HostTraces;
  const agentDirectory = () => path.join(stack.directory, 'agent');

  beforeAll(async () => {
    server = database === 'Postgres' ? await usePostgres() : null;
    postgres = (await server?.createDatabase()) ?? null;
    stack = await startStack({
      ...(postgres === null ? {} : { databaseUrl: postgres.url }),
      apps: [
        { name: 'Slow starter', runtime_spec: { args: ['/bin/sleep', '300'] } },
        { name: 'Red', runtime_spec: { args: ['xterm', '-bg', '#d00000', '-geometry', '300x100+0+0'] } },
      ],
    });
    browser = await startBrowser();
    page = await browser.newPage();
    before = await eventually('the helpers of the agent run', PATIENCE_MS, () =>
      steadyTraces(stack.agent.pid, agentDirectory()),
    );
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    await postgres?.drop();
    await server?.stop();
  });

  test('the instance is claimed with the token from the file', async () => {
    await page.goto(`${stack.httpsUrl}/setup`);
    const token = page.getByLabel('Setup token');
    await token.fill('0'.repeat(64));
    await page.getByLabel('Email').fill(ADMIN.email);
    await page.getByLabel('Name').fill(ADMIN.username);
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password);
    await page.getByRole('button', { name: 'Claim this instance' }).click();
    await page.getByText('This token is wrong.').waitFor();
    expect(await token.evaluate((field) => field === document.activeElement)).toBe(true);
    await token.fill(stack.setupToken());
    await page.getByRole('button', { name: 'Claim this instance' }).click();
    await page.waitForURL('**/admin/setup');
    expect(existsSync(path.join(stack.directory, 'control', 'setup-token'))).toBe(false);
  });

  testOnce('the last step of the setup launches an app with a press on its tile', async () => {
    for (const [words, act] of [
      ['The connection is secure', 'Next'],
      ['1 host connected', 'Next'],
      ['These apps are here already', 'Finish'],
    ] as const) {
      await page.getByText(words).waitFor();
      await page.getByRole('button', { name: act }).click();
    }
    await page.getByText('Setup is complete').waitFor();
    await page.getByRole('button', { name: 'Launch Diagnostics' }).click();
    await page.waitForURL('**/app/session/*');
    await eventually('frames are shown', PATIENCE_MS, async () => (await framesShown(page)) > 5 || null);
    expect(await page.getByRole('main').count()).toBe(1);
    const { email, password } = ADMIN;
    const { body } = await stack.call('POST', '/v1/auth/login', { body: { email, password } });
    const address = `/v1/sessions/${page.url().split('/').at(-1)}`;
    await stack.call('DELETE', address, { token: body.access_token });
    await eventually('it has ended', PATIENCE_MS, async () => {
      const read = await stack.call('GET', address, { token: body.access_token });
      return read.body.session.state === 'stopped' || null;
    });
  });

  test('the account logs in again on another day', async () => {
    // The icon is not a page of the app. A page of the app would notice the sign-out and open the login page
    // automatically.
    await page.goto(`${stack.httpsUrl}/icon.svg`);
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${stack.httpsUrl}/login`);
    await page.getByLabel('Email').fill(ADMIN.email);
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password);
    await page.getByRole('button', { name: /log in/i }).click();
    await page.waitForURL('**/app');
  });

  test('the library shows the installed apps, and the terminal for the first administrator', async () => {
    for (const name of ['Diagnostics', 'Disco ball', 'LBreakoutHD', 'Terminal']) {
      await page
        .getByRole('button', { name: new RegExp(name) })
        .first()
        .waitFor();
    }
  });

  test('a click on the tile brings the picture that the app draws', async () => {
    await page
      .getByRole('button', { name: /Diagnostics/ })
      .first()
      .click();
    await page.waitForURL('**/app/session/*');
    await showsBars(page);
  });

  test('the picture moves', async () => {
    const from = await framesShown(page);
    await eventually(
      'thirty more frames are shown',
      PATIENCE_MS,
      async () => (await framesShown(page)) >= from + 30 || null,
    );
  });

  test('a key press in the page changes the app’s picture', async () => {
    await fieldBecomes(page, KEY_FIELD, 0);
    await page.keyboard.press('KeyA');
    await fieldBecomes(page, KEY_FIELD, 1);
  });

  test('a click in the page changes the app’s picture at that position', async () => {
    await fieldBecomes(page, CLICK_FIELD, 0);
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    await page.mouse.click(width * 0.7, height * 0.8);
    await fieldBecomes(page, CLICK_FIELD, 1);
  });

  test('another app replaces it in the same session and the same page', async () => {
    const { email, password } = ADMIN;
    const { body } = await stack.call('POST', '/v1/auth/login', { body: { email, password } });
    const token = body.access_token;
    const id = page.url().split('/').at(-1);
    const { items } = (await stack.call('GET', '/v1/apps', { token })).body;
    const app_id = items.find(({ name }: { name: string }) => name === 'Red').id;
    const swapped = await stack.call('POST', `/v1/sessions/${id}/swap`, { token, body: { app_id } });
    expect(swapped.status, JSON.stringify(swapped.body)).toBe(200);
    await eventually('the picture is that of the other app', PATIENCE_MS, async () => {
      const [seen] = await coloursAt(page, [[0.5, 0.5]]);
      return isNear(seen, [0xd0, 0, 0]) || null;
    });
    expect(page.url()).toContain(id);
  });

  test('after the end nothing of the session is left on the host', async () => {
    // The bar stays while it has the focus. A bar opened by the pointer hides after 2 s, which on a busy machine may be
    // before the press.
    await page.keyboard.press('Control+Alt+Shift+KeyZ');
    await page.getByRole('button', { name: 'End Red' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End Red' }).click();
    await page.getByRole('button', { name: 'Launch again' }).waitFor();
    await nothingLeft(stack.agent.pid, agentDirectory(), before);
  });

  testOnce(
    'an app that has drawn nothing yet is waited for on the launch screen, where the launch is cancelled',
    async () => {
      await page.goto(`${stack.httpsUrl}/app`);
      await page
        .getByRole('button', { name: /Slow starter/ })
        .first()
        .click();
      await page.waitForURL('**/app/session/*');
      // The host already streams the display, which is still empty.
      await eventually('frames arrive', PATIENCE_MS, async () => (await framesShown(page)) > 5 || null);
      const stage = page.getByRole('region', { name: 'Starting Slow starter' });
      // The host may report that step after its first frames.
      await expect.poll(() => stage.getByRole('status').textContent()).toBe('Waiting for the app to draw');
      await stage.getByRole('button', { name: 'Cancel' }).click();
      await page.waitForURL('**/app');
    },
  );
});
