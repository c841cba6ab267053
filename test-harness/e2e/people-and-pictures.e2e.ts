import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const GRACE = { email: 'grace@example.org', username: 'grace', password: 'violet lantern parade' };
const NEXT_PASSWORD = 'quiet harbour morning';

describe('an administrator invites a user and gives the library its pictures', () => {
  let stack: Stack;
  let adminToken: string;
  let appId: string;
  let adminBrowser: Browser;
  let graceBrowser: Browser;
  let admin: Page;
  let grace: Page;
  const broken: string[] = [];

  function watch(page: Page): void {
    page.on('pageerror', (error) => broken.push(String(error)));
    page.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) broken.push(message.text());
    });
  }

  beforeAll(async () => {
    stack = await startStack();
    adminToken = (await stack.claim()).token;
    const apps = await stack.call('GET', '/v1/apps', { token: adminToken });
    appId = apps.body.items.find((app: { name: string }) => app.name === 'Diagnostics').id;
    [adminBrowser, graceBrowser] = await Promise.all([startBrowser(), startBrowser()]);
    [admin, grace] = await Promise.all([adminBrowser.newPage(), graceBrowser.newPage()]);
    watch(admin);
    watch(grace);
    await signIn(admin, adminToken);
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await admin.goto(`${stack.httpsUrl}/login`);
    await admin.waitForURL('**/app');
  });

  afterAll(async () => {
    await adminBrowser?.close();
    await graceBrowser?.close();
    await stack?.stop();
  });

  test('registration is opened for invited people, without a restart', async () => {
    await admin.goto(`${stack.httpsUrl}/admin/invites`);
    await admin.getByRole('button', { name: 'Allow registration with an invite' }).click();
    await admin.getByText('People with an invite may register now').waitFor();
    await admin.getByText('Registration is closed').waitFor({ state: 'detached' });
    await admin.goto(`${stack.httpsUrl}/admin/settings`);
    await expect.poll(() => admin.getByLabel('Who may register').inputValue()).toBe('invite_only');
    await admin.getByLabel('Apps may hear the microphone').check();
    await admin.getByRole('button', { name: 'Save settings' }).click();
    await admin.getByText('The settings were saved').waitFor();
    const refused = await stack.call('POST', '/v1/auth/register', { body: GRACE });
    expect(refused.body.error.code).toBe('invalid_invite');
  });

  test('the link of an invite creates an account, once, and signs it in', async () => {
    await admin.goto(`${stack.httpsUrl}/admin/invites`);
    await admin.getByRole('button', { name: 'Make an invite' }).click();
    await admin.getByLabel('Note').fill('for Grace');
    await admin.getByRole('button', { name: 'Make invite' }).click();
    const link = await admin.getByLabel('invite link', { exact: true }).inputValue();
    // The link contains the machine's external address. The test opens the link's path at the loopback address instead,
    // like the other tests.
    const { pathname, search } = new URL(link);
    await grace.goto(`${stack.httpsUrl}${pathname}${search}`);
    await grace.getByLabel('Email').fill(GRACE.email);
    await grace.getByLabel('Name').fill(GRACE.username);
    await grace.getByLabel('Password', { exact: true }).fill(GRACE.password);
    await grace.getByRole('button', { name: /account|register/i }).click();
    await grace.waitForURL('**/app');
    const again = await stack.call('POST', '/v1/auth/register', {
      body: {
        ...GRACE,
        email: 'other@example.org',
        username: 'other',
        invite_code: new URL(link).searchParams.get('invite'),
      },
    });
    expect(again.body.error.code).toBe('invalid_invite');
  });

  test('an uploaded picture is the app’s tile in every library', async () => {
    await admin.goto(`${stack.httpsUrl}/admin/apps/${appId}`);
    await admin.getByRole('button', { name: 'Upload a tile' }).waitFor();
    const picture = await admin.screenshot({ type: 'png' });
    await admin
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'cover.png', mimeType: 'image/png', buffer: picture });
    await admin.getByText('Chosen by an administrator').waitFor();
    await grace.goto(`${stack.httpsUrl}/app`);
    const tile = grace.getByRole('button', { name: 'Launch Diagnostics' }).locator('img');
    await tile.waitFor();
    await expect
      .poll(() => tile.evaluate((img) => (img instanceof HTMLImageElement ? img.naturalWidth : 0)))
      .toBeGreaterThan(0);
    expect(await tile.getAttribute('src')).toMatch(/^\/v1\/artwork\/[0-9a-f]{64}\.png/);
  });

  test('the star marks a favourite, which is still marked after a reload', async () => {
    const answered = grace.waitForResponse((response) => response.url().includes('/v1/me/favourites/'));
    await grace.getByRole('button', { name: 'Favourite: Diagnostics' }).click({ force: true });
    expect((await answered).status()).toBe(204);
    await grace.reload();
    const star = grace.getByRole('button', { name: 'Favourite: Diagnostics' });
    await expect.poll(() => star.getAttribute('aria-pressed')).toBe('true');
  });

  test('after a change of the password only this device stays signed in', async () => {
    const elsewhere = await stack.call('POST', '/v1/auth/login', {
      body: { email: GRACE.email, password: GRACE.password },
    });
    await grace.goto(`${stack.httpsUrl}/app/account`);
    await grace.getByText('This device', { exact: true }).waitFor();
    await grace.getByRole('button', { name: 'Change password' }).click();
    await grace.getByLabel('Current password').fill(GRACE.password);
    await grace.getByLabel('New password').fill(NEXT_PASSWORD);
    await grace.getByRole('button', { name: 'Change password' }).click();
    await grace.getByText('Your password was changed').waitFor();
    await grace.reload();
    await grace.getByText('This device', { exact: true }).waitFor();
    const old = await stack.call('GET', '/v1/me', { token: elsewhere.body.access_token });
    expect(old.status).toBe(401);
    const wrong = await stack.call('POST', '/v1/auth/login', {
      body: { email: GRACE.email, password: GRACE.password },
    });
    expect(wrong.body.error.code).toBe('invalid_credentials');
  });

  test('a disabled account is sent to the login at its next step, and cannot sign in', async () => {
    await admin.goto(`${stack.httpsUrl}/admin/users`);
    await admin.getByRole('link', { name: 'grace', exact: true }).click();
    await admin.getByRole('switch', { name: /^Enabled/ }).uncheck();
    await admin.getByRole('button', { name: 'Save changes' }).click();
    await admin.getByRole('button', { name: 'Disable the account' }).click();
    await admin.getByText('grace was saved').waitFor();
    await grace.goto(`${stack.httpsUrl}/app/account`);
    await grace.waitForURL('**/login**');
    const login = await stack.call('POST', '/v1/auth/login', {
      body: { email: GRACE.email, password: NEXT_PASSWORD },
    });
    expect(login.body.error.code).toBe('invalid_credentials');
  });

  test('the activity log names each action and contains no secret', async () => {
    await admin.goto(`${stack.httpsUrl}/admin/activity`);
    for (const words of ['Changed settings', 'Made an invite', 'Uploaded artwork', 'Disabled an account']) {
      await admin.getByText(words).first().waitFor();
    }
    const log = await stack.call('GET', '/v1/admin/activity', { token: adminToken });
    for (const secret of [GRACE.password, NEXT_PASSWORD, GRACE.email]) {
      expect(JSON.stringify(log.body)).not.toContain(secret);
    }
    expect(broken).toEqual([]);
  });
});
