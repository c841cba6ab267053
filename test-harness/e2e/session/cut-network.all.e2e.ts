import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSessionOnPath, type SessionOnPath } from '../../bench/media/session-on-path.ts';
import { coloursAt, isNear } from '../../src/browser/picture.ts';
import { eventually } from '../../src/stack/program.ts';

declare global {
  interface Window {
    /** Unix milliseconds of the shown frames. */
    footlightFrames?: number[];
  }
}

/** The whole drill runs under `scripts/test --long network-cut`; times are judged only there. */
const LONG = process.env.FOOTLIGHT_LONG === '1';
const CUTS_S = LONG ? [3, 10, 40] : [3, 10];
/** Up to this time ICE keeps the connection, and the page opens no new one. */
const LONGEST_ICE_S = 30;
/**
 * Chromium delays new sockets by the sockets of the page that failed and succeeded in its last three to six minutes. After
 * this time it knows no socket that succeeded, as in most real sessions, and the delays are longest.
 */
const FORGOTTEN_MS = 370_000;
/** Longest time from the network's return to the next picture. */
const BACK_MS = 2_000;
/** Longest time until the page says that the network is gone. */
const SAID_MS = 2_000;
const SECOND_MS = 1_000;
const images = path.resolve(import.meta.dirname, '../../../test-results');

describe.runIf(process.getuid?.() === 0)('a network that stops passing packets', () => {
  let session: SessionOnPath;
  let page: SessionOnPath['page'];

  beforeAll(async () => {
    session = await openSessionOnPath(async (sessions) => ({
      app: await sessions.app('Small pattern', null),
      stream: { width: 640, height: 360 },
    }));
    page = session.page;
    await page.evaluate(() => {
      const frames: number[] = [];
      window.footlightFrames = frames;
      const video = document.querySelector('video');
      const next = () =>
        video?.requestVideoFrameCallback(() => {
          frames.push(performance.timeOrigin + performance.now());
          next();
        });
      next();
    });
  }, 120_000);

  afterAll(() => session?.close());

  const says = () => page.getByRole('status').filter({ hasText: /^No (network|picture) for \d+ seconds?\./ });

  test.each(CUTS_S)(
    'for %i s: the page says so, and the picture comes back by itself',
    {
      timeout: 600 * SECOND_MS,
    },
    async (seconds) => {
      await says().waitFor({ state: 'hidden' });
      if (seconds > LONGEST_ICE_S) await page.waitForTimeout(FORGOTTEN_MS);
      const cutAtMs = Date.now();
      session.network.cut();
      await says().waitFor({ timeout: 20_000 });
      const saidMs = Date.now() - cutAtMs;
      await page.waitForTimeout(Math.max(0, cutAtMs + (seconds - 0.5) * SECOND_MS - Date.now()));
      const words = await says().textContent();
      await page.screenshot({ path: path.join(images, `session-cut-${seconds}.png`) });
      await page.waitForTimeout(Math.max(0, cutAtMs + seconds * SECOND_MS - Date.now()));
      const mendedAtMs = Date.now();
      session.network.mend();
      const backAtMs = await eventually('a new frame', 60_000, () =>
        page.evaluate((from) => window.footlightFrames?.find((at) => at > from) ?? null, mendedAtMs),
      );
      const backMs = Math.round(backAtMs - mendedAtMs);
      process.stdout.write(
        `cut for ${seconds} s: said after ${saidMs} ms ("${words}"), picture back after ${backMs} ms\n`,
      );
      await eventually('further frames', 20_000, () =>
        page.evaluate(
          (from) => (window.footlightFrames ?? []).filter((at) => at > from).length > 30 || null,
          mendedAtMs,
        ),
      );
      await says().waitFor({ state: 'hidden' });
      if (LONG) {
        expect(saidMs).toBeLessThanOrEqual(SAID_MS);
        expect(backMs).toBeLessThanOrEqual(BACK_MS);
      }

      // A key must reach the app again.
      const [before] = await coloursAt(page, [[0.25, 0.85]]);
      await page.keyboard.press('KeyA');
      await eventually('a key arrives', 20_000, async () => {
        const [now] = await coloursAt(page, [[0.25, 0.85]]);
        return (before !== undefined && now !== undefined && !isNear(now, before)) || null;
      });
    },
  );
});
