import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { gamepadOf, type Hands, keyboardOf } from '../../src/browser/hands.ts';
import { plugIn } from '../../src/browser/pad.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { eventually } from '../../src/stack/program.ts';
import { diagnosticsApp, type Stack, startStack } from '../../src/stack/stack.ts';

const APPS = 30;
const LONG = process.env.FOOTLIGHT_LONG === '1';
/**
 * The session, the account page and the gamepad take a minute and a half and run only in the long form; the rest is
 * tested in every run.
 */
const inDrill = test.runIf(LONG);
/** Short and made of neighbouring keys, because a gamepad types it letter by letter. */
const BEA = { email: 'e@w.re', username: 'bea', password: 'qqqqwwwweeee' };

describe.runIf(process.getuid?.() === 0)('every task of a person without a pointer', () => {
  let stack: Stack;
  let token: string;
  let { password } = BEA;

  beforeAll(async () => {
    stack = await startStack({
      apps: Array.from({ length: APPS }, (_none, n) => ({
        name: `App ${String(n).padStart(2, '0')}`,
        kind: n % 2 === 0 ? 'game' : 'desktop',
        runtime_spec: { args: ['/bin/sleep', '600'] },
      })),
    });
    token = (await stack.claim()).token;
    const small = diagnosticsApp(stack.directory, 'Zebra', { width: 640, height: 360, fps: 15 });
    const { app } = await call('POST', '/v1/apps', small);
    await call('PATCH', '/v1/admin/settings', { registration_mode: 'open' });
    const { user } = await call('POST', '/v1/auth/register', BEA);
    const grant = { subject_type: 'user', subject_id: user.id };
    await call('POST', `/v1/admin/apps/${app.id}/entitlements`, grant);
  });

  afterAll(() => stack?.stop());

  const call = async (method: string, path: string, body?: object) => {
    const answer = await stack.call(method, path, { token, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  const keyboard = ['the keyboard', keyboardOf] as const;
  const gamepad = ['a gamepad', gamepadOf] as const;
  describe.each(LONG ? [keyboard, gamepad] : [keyboard])('with %s alone', (kind, handsOf) => {
    let browser: Browser;
    let page: Page;
    let hands: Hands;

    beforeAll(async () => {
      browser = await startBrowser();
      page = await browser.newPage();
      if (kind === 'a gamepad') await plugIn(page);
      page.setDefaultTimeout(20_000);
      hands = handsOf(page);
    });

    afterAll(() => browser?.close());

    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    const part = (name: string) => page.getByRole('region', { name, exact: true });
    const dialog = () => page.getByRole('dialog');
    const tile = (name: string) =>
      page
        .locator('[data-section="all"]')
        .and(page.getByRole('button', { name: `Launch ${name}`, exact: true }));
    const inBar = (name: string | RegExp) =>
      page.getByRole('toolbar', { name: 'Controls' }).getByRole('button', { name });
    const take = async (control: Parameters<Hands['reach']>[0]) => {
      await hands.reach(control);
      await hands.press();
    };
    const library = async () => {
      await page.goto(`${stack.httpsUrl}/app`);
      await tile('App 00').waitFor();
    };
    const live = async () => {
      const from = await framesShown(page);
      await eventually(
        'the picture is live',
        30_000,
        async () => (await framesShown(page)) > from + 5 || null,
      );
      await page.locator('[data-leaving="true"]').waitFor({ state: 'attached' });
    };

    test('signs in', async () => {
      await page.goto(`${stack.httpsUrl}/login`);
      await hands.reach(page.getByLabel('Email'));
      await hands.write(BEA.email);
      await hands.reach(page.getByLabel('Password', { exact: true }));
      await hands.write(password);
      await take(button('Log in'));
      await page.waitForURL('**/app');
      await tile('App 00').waitFor();
    });

    test('marks a favourite, filters by one kind of apps, and searches', async () => {
      await hands.reach(tile('App 03'));
      await hands.mark();
      await part('Favourites').waitFor();
      await hands.mark();
      await part('Favourites').waitFor({ state: 'detached' });
      await take(button('Games'));
      await part('Found').waitFor();
      await hands.press();
      await part('All apps').waitFor();
      await hands.reach(page.getByRole('searchbox'));
      await hands.write('app 2');
      await page.getByText('10 apps found').waitFor({ state: 'attached' });
    });

    test('launches an app and cancels', async () => {
      await take(tile('App 21'));
      await page.waitForURL('**/app/session/*');
      await take(button('Cancel'));
      await page.waitForURL('**/app');
      await hands.reach(page.getByRole('searchbox'));
      await hands.write('');
      await part('All apps').waitFor();
    });

    test('opens the choice of quality of an app, and launches it with a choice', async () => {
      await hands.reach(tile('Zebra'));
      await hands.askQuality();
      await dialog().getByRole('radio').nth(1).waitFor();
      await hands.pick(dialog().getByRole('radio', { name: /^Save data/ }));
      await take(dialog().getByRole('button', { name: 'Launch Zebra' }));
      await page.waitForURL('**/app/session/*');
      await live();
    });

    inDrill('reads the statistics in the bar of the session, and goes back to the picture', async () => {
      await hands.openBar();
      await take(inBar(/^Quality /));
      await hands.press();
      await hands.press();
      await page.getByRole('button', { name: 'Close the statistics' }).waitFor();
      await hands.press();
      await page.getByRole('button', { name: 'Close the statistics' }).waitFor({ state: 'detached' });
      await hands.back();
      await page.locator('textarea').first().and(page.locator(':focus')).waitFor();
    });

    inDrill('launches again with another quality', async () => {
      const from = page.url();
      await hands.openBar();
      await take(inBar('More'));
      await take(dialog().getByRole('button', { name: 'Relaunch with another quality' }));
      await hands.pick(dialog().getByRole('radio').first());
      await take(dialog().getByRole('button', { name: 'End and relaunch Zebra' }));
      await page.waitForURL((url) => url.pathname.startsWith('/app/session/') && String(url) !== from);
      await live();
    });

    inDrill('leaves, comes back, and ends the app', async () => {
      await hands.openBar();
      await take(inBar(/^Back to the library/));
      await page.waitForURL('**/app');
      await take(button('Resume Zebra'));
      await page.waitForURL('**/app/session/*');
      await live();
      await hands.openBar();
      await take(inBar('End Zebra'));
      await take(dialog().getByRole('button', { name: 'End Zebra' }));
      await take(button('Back to the library'));
      await page.waitForURL('**/app');
    });

    inDrill('changes the colours and the language in the menu', async () => {
      await library();
      await hands.openMenu();
      await take(button('Light'));
      await page.locator('html[data-mantine-color-scheme="light"]').waitFor();
      await take(button('Deutsch'));
      await page.locator('html[lang="de"]').waitFor();
      await part('Alle Apps').waitFor();
      await hands.openMenu();
      await take(button('English'));
      await page.locator('html[lang="en"]').waitFor();
    });

    inDrill('names a device, and signs another one out', async () => {
      const { email } = BEA;
      await call('POST', '/v1/auth/login', { email, password, device_key: `another with ${kind}` });
      await hands.openMenu();
      await take(page.getByRole('link', { name: 'Account' }));
      await page.getByText('This device', { exact: true }).waitFor();
      await take(
        part('Devices')
          .getByRole('button', { name: /^Rename/ })
          .first(),
      );
      await hands.reach(dialog().getByLabel('Name'));
      await hands.write('sofa');
      await take(dialog().getByRole('button', { name: 'Save name' }));
      await part('Devices').getByText('sofa').first().waitFor();
      const others = part('Devices')
        .getByRole('listitem')
        .filter({ hasNot: page.getByText('This device', { exact: true }) });
      const count = await others.count();
      await take(others.first().getByRole('button', { name: /^Remove / }));
      await take(dialog().getByRole('button', { name: 'Remove 1 device' }));
      await eventually('it is gone', 20_000, async () => (await others.count()) === count - 1 || null);
    });

    inDrill('chooses quality, keyboard, colours and language', async () => {
      await hands.pick(part('Picture quality').getByRole('radio').nth(1));
      await part('Picture quality').getByText('Saved').waitFor({ state: 'attached' });
      await hands.pick(part('Picture quality').getByRole('radio').nth(0));
      for (const control of [part('Keyboard').getByRole('combobox'), part('Look').getByLabel('Colours')]) {
        const before = await control.inputValue();
        await hands.reach(control);
        await hands.nextOption();
        await eventually('another one', 20_000, async () => (await control.inputValue()) !== before || null);
      }
      await hands.reach(part('Look').getByLabel('Language'));
      await hands.nextOption();
      await page.locator('select:focus').waitFor();
      await page.evaluate(() => localStorage.removeItem('footlight.language'));
    });

    inDrill('changes the password, and signs out', async () => {
      const next = kind === 'a gamepad' ? 'wwwweeeerrrr' : 'eeeerrrrtttt';
      await page.reload();
      await page.getByText('This device', { exact: true }).waitFor();
      await take(button('Change password'));
      await hands.reach(page.getByLabel('Current password'));
      await hands.write(password);
      await hands.reach(page.getByLabel('New password'));
      await hands.write(next);
      await take(button('Change password'));
      await page.getByText('Your password was changed.').waitFor();
      password = next;
      await take(page.getByRole('main').getByRole('button', { name: 'Log out' }));
      await page.waitForURL('**/login');
    });
  });
});
