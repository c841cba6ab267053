/**
 * fleet-pages: the pages of administrators with 1,000 connected hosts and 2,000 running sessions, in Chromium. For each
 * page: the slowest answer of the API, the time until the first row is shown, and the frames of ten seconds of scrolling,
 * during which the page also refreshes. There is no reference; the mark is 300 ms for each answer.
 */
import type { Page } from 'playwright-core';
import { startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { percentile, printVerdict } from '../rounds.ts';
import { AGENTS, allOnline, run } from './fleet.ts';
import { withFleet } from './fleet-instance.ts';

const FLEET = { hosts: 1_000, sessionsEach: 2 };
const HEARTBEAT_MS = 5_000;
const MARK_MS = 300;
const SCROLL_SECONDS = 10;
/** Path of a page, and what it shows first of the fleet. */
const PAGES = [
  ['/admin', 'main ul li a'],
  ['/admin/hosts', 'tbody tr:not([data-placeholder]) a'],
  ['/admin/hosts?sort=-slots&q=9', 'tbody tr:not([data-placeholder]) a'],
  ['/admin/sessions', 'tbody tr:not([data-placeholder]) a'],
  ['/admin/sessions?sort=user', 'tbody tr:not([data-placeholder]) a'],
] as const;

/** @returns the exit status */
export function benchFleetPages(): Promise<number> {
  return withFleet(FLEET, AGENTS, async ({ fleet, load, startControl }) => {
    const control = await startControl();
    await run(load, { kind: 'stay', url: control.url, heartbeatMs: HEARTBEAT_MS });
    await allOnline(control.url, fleet, load);
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      await signIn(page, fleet.adminToken);
      // GET /v1/me sets the cookie that opens the administrators' documents.
      await page.goto(`${control.url}/login`);
      await page.waitForURL('**/app');
      let isMet = true;
      for (const [path, first] of PAGES) {
        const figures = await measure(page, control.url + path, first);
        const isMetHere = figures.slowestAnswerMs <= MARK_MS;
        isMet &&= isMetHere;
        printVerdict({ bench: `fleet-pages ${path}`, ...figures, verdict: isMetHere ? 'met' : 'missed' });
      }
      return isMet ? 0 : 1;
    } finally {
      await browser.close();
      await run(load, { kind: 'drop' });
      await control.stop();
    }
  });
}

async function measure(page: Page, url: string, first: string) {
  const startedMs = performance.now();
  await page.goto(url);
  await page.locator(first).first().waitFor();
  const firstRowMs = performance.now() - startedMs;
  const frames = await page.evaluate(async (seconds) => {
    const intervals: number[] = [];
    let before = await new Promise<number>(requestAnimationFrame);
    const end = before + seconds * 1_000;
    for (let step = 24; before < end; ) {
      scrollBy(0, step);
      const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
      if (atEnd || scrollY === 0) step = atEnd ? -24 : 24;
      const now = await new Promise<number>(requestAnimationFrame);
      intervals.push(now - before);
      before = now;
    }
    return intervals;
  }, SCROLL_SECONDS);
  const answers = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name }) => new URL(name).pathname.startsWith('/v1/'))
      .map(({ requestStart, responseEnd }) => responseEnd - requestStart),
  );
  if (answers.length === 0) throw new Error(`${url}: no answer of the API was measured`);
  return {
    answers: answers.length,
    slowestAnswerMs: Math.round(Math.max(...answers)),
    firstRowMs: Math.round(firstRowMs),
    frameP50Ms: Math.round(percentile(frames, 0.5)),
    frameP95Ms: Math.round(percentile(frames, 0.95)),
    frameP99Ms: Math.round(percentile(frames, 0.99)),
  };
}
