import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually, PATIENCE_MS } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const images = path.resolve(import.meta.dirname, '../../../test-results');
/** Keys of a German keyboard, as Chromium reports them. */
const GERMAN_KEYS: [string, string][] = [
  ['KeyQ', 'q'],
  ['KeyW', 'w'],
  ['KeyY', 'z'],
  ['KeyZ', 'y'],
  ['Minus', 'ß'],
  ['Semicolon', 'ö'],
  ['Quote', 'ä'],
  ['BracketLeft', 'ü'],
];
/** Two terminals whose programs record their input. */
const TERMINALS = `
for name in one two; do
  xterm -u8 -T "Terminal $name" -e /bin/sh -c "stty raw -echo; exec cat >$HOME/$name" &
  sleep 1
done
wait`;

describe.runIf(process.getuid?.() === 0)('the controls of a session', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2' } });
    const { token } = await stack.claim();
    sessions = new PersonSessions(stack, token);
    const runtime_spec = { args: ['/bin/sh', '-c', TERMINALS] };
    const app = await sessions.app('Terminals', null, {}, { managed_home: true, runtime_spec });
    id = (await sessions.launch(app, { width: 1280, height: 720 })).id;
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser();
    page = await browser.newPage();
    await signIn(page, token);
    await page.addInitScript((keys) => {
      const keyboard = {
        getLayoutMap: async () => new Map(keys),
        lock: async () => undefined,
        unlock: () => undefined,
      };
      Object.defineProperty(navigator, 'keyboard', { value: keyboard });
    }, GERMAN_KEYS);
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
  });

  async function open(): Promise<void> {
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually(
      'the page shows the session',
      PATIENCE_MS,
      async () => (await framesShown(page)) > 5 || null,
    );
  }

  /** Input that the terminal of that name has read. */
  function typed(name: string): string {
    const homes = path.join(stack.directory, 'agent', 'homes');
    const [file] = readdirSync(homes, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith(`/${name}`),
    );
    return file === undefined ? '' : readFileSync(path.join(homes, file), 'utf8');
  }

  const bar = () => page.getByRole('toolbar', { name: 'Controls' });
  async function openBar(): Promise<void> {
    await page.mouse.move(640, 300);
    await page.mouse.move(640, 1);
    await bar().waitFor({ state: 'visible' });
  }

  const press = async (...codes: string[]) => {
    for (const code of codes) await page.keyboard.press(code);
  };

  test('the keys type the characters printed on them, and the bar shows the keyboard layout', async () => {
    await open();
    await openBar();
    await bar().getByRole('button', { name: 'Keyboard DE; type text or keys' }).waitFor();
    // A control without text has a tooltip; the test checks that the button does not clip it.
    const fullScreen = bar().getByRole('button', { name: 'Full screen' });
    await fullScreen.hover();
    const tip = await fullScreen.evaluate((node) => [
      getComputedStyle(node, '::after').content,
      getComputedStyle(node).overflow,
    ]);
    expect(tip).toEqual(['"Full screen"', 'visible']);
    await page.screenshot({ path: path.join(images, 'session-bar.png') });
    await page.mouse.move(640, 400);
    await page.mouse.click(640, 400);
    await press('KeyY', 'Minus', 'Semicolon');
    await expect.poll(() => typed('two')).toBe('zßö');
  });

  test('the person chooses another layout, and the account stores it', async () => {
    await openBar();
    await bar()
      .getByRole('button', { name: /^Keyboard DE/ })
      .click();
    const choice = page.getByLabel('Your keyboard');
    expect(await choice.locator('option').first().textContent()).toBe('As detected: German');
    await page.screenshot({ path: path.join(images, 'session-keyboard.png') });
    await choice.selectOption({ label: 'French' });
    await page.keyboard.press('Escape');
    await openBar();
    await bar()
      .getByRole('button', { name: /^Keyboard FR/ })
      .waitFor();
    await page.mouse.click(640, 400);
    await press('KeyQ', 'Digit2');
    await expect.poll(() => typed('two')).toBe('zßöaé');
    await open();
    await openBar();
    await bar()
      .getByRole('button', { name: /^Keyboard FR/ })
      .waitFor();
  });

  test('the bar lists the windows of the app, and brings one to the front', async () => {
    await openBar();
    await bar().getByRole('button', { name: 'Switch between 2 windows' }).click();
    const dialog = page.getByRole('dialog', { name: 'Windows' });
    await page.screenshot({ path: path.join(images, 'session-windows.png') });
    await expect(
      dialog.getByRole('button', { name: 'Terminal two' }).getAttribute('aria-current'),
    ).resolves.toBe('true');
    await dialog.getByRole('button', { name: 'Terminal one' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.mouse.click(640, 400);
    await press('KeyE');
    await expect.poll(() => typed('one')).toBe('e');
  });

  test('the bar is moved to another edge and made a handle, and the account stores it', async () => {
    await openBar();
    await bar().getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Bottom' }).click();
    await page.keyboard.press('Escape');
    await page.mouse.move(640, 767);
    await bar().waitFor({ state: 'visible' });
    const box = await bar().boundingBox();
    expect(box?.y).toBeGreaterThan(600);
    await page.screenshot({ path: path.join(images, 'session-bar-bottom.png') });
    await bar().getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'A small handle instead' }).click();
    await page.screenshot({ path: path.join(images, 'session-bar-dialog.png') });
    await page.keyboard.press('Escape');
    await open();
    const handle = page.getByRole('button', { name: 'Show the controls' });
    await handle.waitFor();
    await page.mouse.move(640, 300);
    await bar().waitFor({ state: 'hidden' });
    await page.screenshot({ path: path.join(images, 'session-handle.png') });
    await handle.click();
    await bar().waitFor({ state: 'visible' });
  });
});
