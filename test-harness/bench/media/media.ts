/**
 * connect, g2g and click: the same Diagnostics picture, the same encoder and the same measurement in the page, once
 * through Footlight and once through GStreamer's webrtcbin, in alternating rounds.
 */
import type { Page } from 'playwright-core';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { eventually } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { displayOfApp, firstDrawMs, openInjector, startBareDisplay, startDiagnostics } from '../display.ts';
import { firstPicture, launch, launchByClick, signedInPage } from '../footlight.ts';
import { type Change, responsesTo } from '../page-probe.ts';
import { alternate, exitStatus, judge, median, printLine, printVerdict, round2 } from '../rounds.ts';
import { startWebrtcbin } from './webrtcbin.ts';

const STREAM = { width: 1280, height: 720, fps: 60, bitrate_kbps: 6000 };
const SAMPLES = 30;
/** X keycode of the letter A. */
const KEYCODE = 38;
const RESPONSE_LIMIT_MS = 1000;

const FIGURES = ['connect', 'g2g', 'click'] as const;
type Figure = (typeof FIGURES)[number];

/**
 * Parts of `g2g`: from the press to the frame's last packet, to the decoded frame, and to the refresh of the page's
 * display, at which the page reads it. They are printed and not judged.
 */
const STAGES = {
  'g2g, to receipt': ({ receivedAt }: Change, press: number) => receivedAt - press,
  'g2g, decode': ({ presentedAt, receivedAt }: Change) => presentedAt - receivedAt,
  'g2g, wait for the display': ({ at, presentedAt }: Change) => at - presentedAt,
};

/** Figures of one round, medians in milliseconds: first FIGURES, then STAGES. */
async function measureRound(
  page: Page,
  display: { display: string; xauthority: string | null },
): Promise<number[]> {
  const { sinceOfferMs } = await firstPicture(page);
  await page.bringToFront();
  const injector = openInjector(display.display, display.xauthority);
  try {
    // The first presses settle rate control and caches on both sides equally.
    for (let i = 0; i < 5; i++) {
      await injector.key(KEYCODE);
      await pause(60);
    }
    await page.evaluate(() => {
      window.footlightProbe.changes.length = 0;
      window.footlightProbe.presses.length = 0;
    });
    const keyPresses: number[] = [];
    for (let i = 0; i < SAMPLES; i++) {
      keyPresses.push(await injector.key(KEYCODE));
      // Not a multiple of the frame time, so presses fall on all phases of a frame.
      await pause(131);
    }
    const viewport = page.viewportSize() ?? { width: 1280, height: 720 };
    for (let i = 0; i < SAMPLES; i++) {
      await page.mouse.click(viewport.width * 0.7, viewport.height * 0.85);
      await pause(131);
    }
    const { changes, presses } = await page.evaluate(() => window.footlightProbe);
    const seen = responsesTo(keyPresses, changes, 'key', RESPONSE_LIMIT_MS);
    const clicked = responsesTo(presses, changes, 'button', RESPONSE_LIMIT_MS);
    if (seen.length < SAMPLES || clicked.length < SAMPLES) {
      throw new Error(
        `Missed input: ${SAMPLES - seen.length} keys and ${SAMPLES - clicked.length} clicks never showed`,
      );
    }
    const whole = [seen, clicked].map((responses) =>
      median(responses.map(({ press, change }) => change.at - press)),
    );
    const stages = Object.values(STAGES).map((stage) =>
      median(seen.map(({ press, change }) => stage(change, press))),
    );
    return [sinceOfferMs, ...whole, ...stages];
  } finally {
    injector.close();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const MARKS: Record<Figure, (ratio: number, subject: number) => boolean> = {
  connect: (ratio, subject) => ratio <= 1.2 && subject <= 150,
  g2g: (ratio) => ratio <= 0.65,
  click: (ratio) => ratio <= 0.65,
};

/**
 * Runs the three media figures together and judges the requested ones.
 * @returns the exit status
 */
export async function benchMedia(wanted: readonly Figure[], rounds: number): Promise<number> {
  const stack = await startStack();
  let browser: Browser | null = null;
  try {
    browser = await startBrowser({ width: 1280, height: 720 });
    const { token } = await stack.claim();
    const page = await signedInPage(browser, stack, token);
    const app = await diagnosticsId(stack, token);
    const opened = browser;
    const kept = await alternate(
      rounds,
      {
        reference: async () => {
          const display = await startBareDisplay(STREAM);
          const stopApp = startDiagnostics(display, STREAM.fps);
          const peer = await startWebrtcbin(opened, display.name, STREAM);
          try {
            return await measureRound(peer.page, { display: display.name, xauthority: null });
          } finally {
            await peer.stop();
            await stopApp();
            await display.stop();
          }
        },
        subject: async () => {
          await page.bringToFront();
          const session = await launch(page, stack, token, app);
          try {
            await firstPicture(page);
            // The page is loaded again, so that the connection is measured while the app already draws. The app of the
            // peer draws in advance as well.
            await page.reload();
            const display = await eventually('the app runs', 5_000, () =>
              displayOfApp(`${stack.directory}/apps/diagnostics.mjs`),
            );
            return await measureRound(page, display);
          } finally {
            await session.stop();
          }
        },
      },
      [...FIGURES, ...Object.keys(STAGES)],
    );
    if (wanted.includes('g2g'))
      for (const [i, stage] of Object.keys(STAGES).entries()) {
        const rounds = kept[FIGURES.length + i] ?? [];
        printLine({
          bench: stage,
          referenceMedian: round2(median(rounds.map(({ reference }) => reference))),
          subjectMedian: round2(median(rounds.map(({ subject }) => subject))),
          unit: 'ms',
        });
      }
    let status = 0;
    FIGURES.forEach((name, i) => {
      if (!wanted.includes(name)) return;
      const judgement = judge(name, kept[i] ?? [], MARKS[name], 'ms');
      printVerdict(judgement);
      status = Math.max(status, exitStatus(judgement.verdict));
    });
    return status;
  } finally {
    await browser?.close();
    await stack.stop();
  }
}

async function diagnosticsId(stack: Stack, token: string): Promise<string> {
  const { body } = await stack.call('GET', '/v1/apps', { token });
  const app = body.items.find((item: { name: string }) => item.name === 'Diagnostics');
  if (app === undefined) throw new Error('The seed file gave no Diagnostics app');
  return app.id;
}

/**
 * launch: the time from the page's POST /v1/sessions, after a click in the library, to the first picture on that page,
 * minus the time that the app takes to draw for the first time, measured in the same run on a separate display.
 */
export async function benchLaunch(rounds: number): Promise<number> {
  const stack = await startStack();
  const bare = await startBareDisplay(STREAM);
  let browser: Browser | null = null;
  try {
    browser = await startBrowser({ width: 1280, height: 720 });
    const { token } = await stack.claim();
    const page = await signedInPage(browser, stack, token);
    const totals: number[] = [];
    const differences: number[] = [];
    for (let i = 0; i <= rounds; i++) {
      const session = await launchByClick(page, stack, token, 'Diagnostics');
      const { sinceLaunchMs: total } = await firstPicture(page);
      const placement = await stack.call('GET', `/v1/sessions/${session.id}`, { token });
      await session.stop();
      const draw = await firstDrawMs(bare);
      printLine({
        bench: 'launch',
        round: i,
        discarded: i === 0,
        total: round2(total),
        ownFirstDraw: round2(draw),
        state: placement.body.session.state,
      });
      if (i === 0) continue;
      totals.push(total);
      differences.push(total - draw);
    }
    const sorted = [...differences].sort((a, b) => a - b);
    const p95 = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.95) - 1)] ?? Number.NaN;
    const met = median(differences) <= 400 && p95 <= 1.5 * median(differences);
    printVerdict({
      bench: 'launch',
      rounds,
      totalMedian: round2(median(totals)),
      beyondTheAppMedian: round2(median(differences)),
      beyondTheAppP95: round2(p95),
      verdict: met ? 'met' : 'missed',
    });
    return met ? 0 : 1;
  } finally {
    await browser?.close();
    await bare.stop();
    await stack.stop();
  }
}
