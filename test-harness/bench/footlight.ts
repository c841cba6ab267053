import { systemClock, within } from '@footlight/platform';
import { isTerminal } from '@footlight/protocol';
import type { Page } from 'playwright-core';
import type { Browser } from '../src/browser/chromium.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { eventually } from '../src/stack/program.ts';
import type { Stack } from '../src/stack/stack.ts';
import { installProbe } from './page-probe.ts';

const PICTURE_LIMIT_MS = 20_000;

export interface LiveSession {
  readonly page: Page;
  readonly id: string;
  stop(): Promise<void>;
}

/** Signs in on a page of the web app, so that a session page opens without a sign-in. */
export async function signedInPage(browser: Browser, stack: Stack, token: string): Promise<Page> {
  const page = await browser.newPage();
  await installProbe(page);
  await signIn(page, token);
  // Loads the origin and the app's scripts into the cache, like a visit to the library.
  await page.goto(`${stack.httpsUrl}/app`);
  return page;
}

/**
 * Launches an app by the API and opens its page, like a link to a running session.
 * @param stream settings of the stream; absent: the policy decides
 */
export async function launch(
  page: Page,
  stack: Stack,
  token: string,
  appId: string,
  stream?: object,
): Promise<LiveSession> {
  const body = { app_id: appId, ...(stream === undefined ? {} : { stream }) };
  const answer = await stack.call('POST', '/v1/sessions', { token, body });
  if (answer.status !== 201)
    throw new Error(`The launch was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  const id = answer.body.session.id as string;
  await page.goto(`${stack.httpsUrl}/app/session/${id}`);
  return liveSession(page, stack, token, id);
}

/** Launches an app by a click on its tile in the library. */
export async function launchByClick(
  page: Page,
  stack: Stack,
  token: string,
  name: string,
): Promise<LiveSession> {
  await page.goto(`${stack.httpsUrl}/app`);
  const tile = page.getByRole('button', { name: new RegExp(name) }).first();
  await tile.waitFor();
  // Warm start: the person has looked at the library for two seconds with the pointer on the tile, and the page has
  // preloaded the files of the session page.
  await tile.hover();
  await page.waitForTimeout(2_000);
  await tile.click();
  await page.waitForURL('**/app/session/*', { waitUntil: 'commit' });
  return liveSession(page, stack, token, page.url().split('/').at(-1) ?? '');
}

function liveSession(page: Page, stack: Stack, token: string, id: string): LiveSession {
  return {
    page,
    id,
    async stop() {
      await stack.call('DELETE', `/v1/sessions/${id}`, { token });
      await eventually('the session is stopped', 10_000, async () => {
        const { body } = await stack.call('GET', `/v1/sessions/${id}`, { token });
        return isTerminal(body.session.state) || null;
      });
    },
  };
}

/**
 * Waits for the first picture with more than one colour.
 * @returns the page's record of the picture
 */
export async function firstPicture(page: Page): Promise<{ sinceLaunchMs: number; sinceOfferMs: number }> {
  const pictured = page.evaluate(() => window.footlightProbe.pictured.then(() => true));
  if (!(await within(systemClock, PICTURE_LIMIT_MS, pictured, false)))
    throw new Error(`No picture came within ${PICTURE_LIMIT_MS} ms`);
  return page.evaluate(() => ({
    // NaN when this page did not send the launch.
    sinceLaunchMs:
      (window.footlightProbe.firstPictureAt ?? Number.NaN) - (window.footlightProbe.launchedAt ?? Number.NaN),
    sinceOfferMs: window.footlightProbe.firstPictureSinceOfferMs ?? Number.NaN,
  }));
}
