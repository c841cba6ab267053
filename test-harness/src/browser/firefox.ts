import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually, freePort } from '../stack/program.ts';
import { Marionette } from './marionette.ts';

/** Debian's program. */
const FIREFOX = '/usr/bin/firefox-esr';
const START_LIMIT_MS = 60_000;
/** Key of an element in answers of WebDriver. Source: https://www.w3.org/TR/webdriver2/#elements */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** Requests no updates, lists and plug-ins, and shows one empty page. */
const PREFERENCES: Readonly<Record<string, string | number | boolean>> = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.aboutwelcome.enabled': false,
  'browser.safebrowsing.downloads.remote.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.update.enabled': false,
  'intl.accept_languages': 'en-GB',
  'media.gmp-manager.updateEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
};

/** A page in Firefox, with the few actions of a person. Elements are named by CSS selectors. */
export interface FirefoxPage {
  open(url: string): Promise<void>;
  url(): Promise<string>;
  /**
   * @param script body of a function in the page.
   * @returns the function's result; for a promise, its value
   */
  run<Result>(script: string, ...values: unknown[]): Promise<Result>;
  /**
   * Waits up to 20 s for a visible element.
   * @param text that the element's name has to contain
   */
  find(selector: string, text?: string): Promise<FirefoxElement>;
  gone(selector: string): Promise<void>;
  /** Presses and releases keys, as a real keyboard does. */
  type(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface FirefoxElement {
  click(): Promise<void>;
  type(text: string): Promise<void>;
}

const LIMIT_MS = 20_000;

/** Finds the element that matches a selector and whose text or label contains a text. */
const FIND = `
  const [selector, text] = arguments;
  return [...document.querySelectorAll(selector)].find((element) =>
    element.checkVisibility({ visibilityProperty: true }) &&
    (element.ariaLabel ?? element.textContent ?? '').includes(text)) ?? null;`;

/** Starts Debian's Firefox with a new empty profile and one page. */
export async function startFirefox(size = { width: 1366, height: 768 }): Promise<FirefoxPage> {
  const profile = mkdtempSync(path.join(os.tmpdir(), 'footlight-firefox-'));
  const port = await freePort();
  const preferences = { ...PREFERENCES, 'marionette.port': port };
  writeFileSync(
    path.join(profile, 'user.js'),
    Object.entries(preferences)
      .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
      .join(''),
  );
  const words = ['--headless', '--marionette', '--no-remote', '--profile', profile, 'about:blank'];
  const program = spawn('setpriv', ['--pdeathsig', 'KILL', '--', FIREFOX, ...words], {
    env: { ...process.env, HOME: profile, TMPDIR: profile, MOZ_HEADLESS_WIDTH: String(size.width) },
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise<void>((resolve) => program.once('exit', () => resolve()));
  const remove = async () => {
    program.kill('SIGTERM');
    await ended;
    try {
      if (program.pid !== undefined) process.kill(-program.pid, 'SIGKILL');
    } catch {
      // The other processes of Firefox have already ended.
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const driver = await eventually('Firefox listens', START_LIMIT_MS, () => Marionette.on(port));
    await driver.send('WebDriver:NewSession', { acceptInsecureCerts: true });
    await driver.send('WebDriver:SetWindowRect', size);
    return pageOf(driver, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

function pageOf(driver: Marionette, remove: () => Promise<void>): FirefoxPage {
  const run = async <Result>(script: string, ...args: unknown[]): Promise<Result> =>
    (await driver.send<{ value: Result }>('WebDriver:ExecuteScript', { script, args })).value;
  const elementOf = (id: string): FirefoxElement => ({
    click: async () => void (await driver.send('WebDriver:ElementClick', { id })),
    type: async (text) => void (await driver.send('WebDriver:ElementSendKeys', { id, text })),
  });
  return {
    run,
    open: async (url) => void (await driver.send('WebDriver:Navigate', { url })),
    url: async () => (await driver.send<{ value: string }>('WebDriver:GetCurrentURL')).value,
    async find(selector, text = '') {
      const found = await eventually(`${selector} ${text}`, LIMIT_MS, () =>
        run<Record<string, string> | null>(FIND, selector, text),
      );
      return elementOf(found[ELEMENT] ?? '');
    },
    async gone(selector) {
      const isGone = `return document.querySelector(arguments[0]) === null || null;`;
      await eventually(`${selector} is gone`, LIMIT_MS, () => run<true | null>(isGone, selector));
    },
    async type(text) {
      const actions = [...text].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
      await driver.send('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
    },
    async close() {
      driver.close();
      await remove();
    },
  };
}
