import path from 'node:path';
import { percentile } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSessionOnPath, type SessionOnPath } from '../../bench/media/session-on-path.ts';
import { eventually } from '../../src/stack/program.ts';

/** Time limits are judged only under `scripts/test --long paced-download`. */
const LONG = process.env.FOOTLIGHT_LONG === '1';

declare global {
  interface Window {
    /** Times from capture to arrival, ms, of the pictures since the last reading. */
    footlightDelays?: number[];
  }
}

/** The path has a queue of 60 kB, which takes 60 ms at this rate. */
const PATH_KBPS = 8_000;
const PICTURE_KBPS = 3_000;
const FILE_BYTES = LONG ? 6_000_000 : 1_000_000;
/** Largest additional median delay: a fifth of the full queue. A download without rate limit adds more than 25 ms. */
const MEDIAN_MORE_MS = 12;
/** Makes the file, then draws a picture that changes completely in each frame. */
const APP = `head -c ${FILE_BYTES} /dev/zero >$HOME/large.bin; exec "$0" "$1"`;

describe.runIf(process.getuid?.() === 0)('a download on the same path as the picture', () => {
  let session: SessionOnPath;
  let page: SessionOnPath['page'];

  beforeAll(async () => {
    session = await openSessionOnPath(async (sessions, stack) => {
      const diagnostics = path.join(stack.directory, 'apps', 'diagnostics.mjs');
      const runtime_spec = {
        args: ['/bin/sh', '-c', APP, process.execPath, diagnostics],
        env: {
          FOOTLIGHT_DIAGNOSTICS_MOTION: 'full',
          FOOTLIGHT_DIAGNOSTICS_FPS: '30',
          FOOTLIGHT_DIAGNOSTICS_KBPS: String(PICTURE_KBPS),
        },
      };
      const app = await sessions.app('Moving picture', null, {}, { managed_home: true, runtime_spec });
      return { app, stream: { width: 640, height: 360, bitrate_kbps: PICTURE_KBPS } };
    });
    page = session.page;
    await page.evaluate(() => {
      const video = document.querySelector('video');
      const next = () =>
        video?.requestVideoFrameCallback((_now, { captureTime, receiveTime }) => {
          if (captureTime !== undefined && receiveTime !== undefined)
            window.footlightDelays?.push(receiveTime - captureTime);
          next();
        });
      window.footlightDelays = [];
      next();
    });
    session.network.setRate(PATH_KBPS);
  }, 120_000);

  afterAll(() => session?.close());

  const forget = () =>
    page.evaluate(() => {
      window.footlightDelays = [];
    });
  const delays = async () =>
    (await page.evaluate(() => window.footlightDelays ?? [])).sort((one, other) => one - other);
  const words = (all: readonly number[]) =>
    [0.5, 0.95].map((share) => Math.round(percentile(all, share) ?? Number.NaN)).join(' and ');

  test('does not delay the pictures, and uses the remaining bandwidth', { timeout: 120_000 }, async () => {
    await eventually('capture times', 20_000, async () => (await delays()).length > 0 || null);
    await forget();
    const alone = await eventually('five seconds of pictures', 20_000, async () => {
      const all = await delays();
      return all.length > 150 ? all : null;
    });

    await page.mouse.move(480, 300);
    await page.mouse.move(480, 1);
    await page.getByRole('button', { name: 'Files', exact: true }).click();
    await forget();
    const startedMs = performance.now();
    await page.getByRole('button', { name: 'Download large.bin' }).click();
    await page.getByText('It is in your downloads.').waitFor({ timeout: 60_000 });
    const tookS = (performance.now() - startedMs) / 1000;
    const during = await delays();
    const fileKbps = (FILE_BYTES * 8) / 1000 / tookS;
    process.stdout.write(
      `pictures arrive after ${words(alone)} ms alone, ${words(during)} ms with a file (median and 95th percentile); ` +
        `the file had ${Math.round(fileKbps)} kbit/s of ${PATH_KBPS}\n`,
    );
    if (!LONG) return;
    expect((percentile(during, 0.5) ?? 0) - (percentile(alone, 0.5) ?? 0)).toBeLessThan(MEDIAN_MORE_MS);
    expect(fileKbps).toBeGreaterThan((PATH_KBPS - PICTURE_KBPS) / 4);
  });
});
