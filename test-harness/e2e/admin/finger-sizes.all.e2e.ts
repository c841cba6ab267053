import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { smallControls } from '../../src/browser/small-controls.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const UPRIGHT = { width: 390, height: 844 };
const LYING = { width: 844, height: 390 };

describe('on a phone every control is large enough for a finger', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let token: string;

  beforeAll(async () => {
    stack = await startStack();
    token = (await stack.claim()).token;
    browser = await startBrowser(UPRIGHT, { touch: true });
    page = await browser.newPage();
    await page.goto(`${stack.httpsUrl}/login`);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  test.each(['/login', '/register', '/reset?token=spent'])('%s', async (address) => {
    await look(address);
  });

  describe('signed in', () => {
    beforeAll(async () => {
      await signIn(page, token);
      // GET /v1/me sets the cookie that opens the administrators' documents.
      await page.goto(`${stack.httpsUrl}/login`);
      await page.waitForURL('**/app');
    });

    test.each([
      '/app',
      '/app/account',
      ...['', '/setup', '/hosts', '/sessions', '/apps', '/apps/new'].map((each) => `/admin${each}`),
      ...[
        '/presets',
        '/profiles',
        '/users',
        '/images',
        '/homes',
        '/library',
        '/jobs',
        '/invites',
        '/activity',
        '/settings',
      ].map((each) => `/admin${each}`),
    ])('%s', async (address) => {
      await look(address);
    });
  });

  async function look(address: string): Promise<void> {
    await page.setViewportSize(UPRIGHT);
    await page.goto(`${stack.httpsUrl}${address}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.waitForLoadState('networkidle');
    const small: string[] = [];
    for (const size of [UPRIGHT, LYING]) {
      await page.setViewportSize(size);
      small.push(...(await smallControls(page)).map((each) => `${size.width}: ${each}`));
    }
    expect(small).toEqual([]);
  }
});
