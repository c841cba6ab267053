import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear, type Rgb } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { FakeViewer } from '../src/fake-viewer/index.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

// H.265 and AV1 through the whole product. Software encoders, which only tests use, replace the encoders of a GPU.
// Debian's Chromium decodes AV1 but not H.265.

/** The Diagnostics picture begins with these bars, in its upper third. */
const BARS: Rgb[] = [
  [255, 255, 255],
  [255, 255, 0],
  [0, 255, 255],
  [0, 255, 0],
];
/**
 * Allowed deviation per colour, because of 8-bit chroma. A wrong colour matrix (standard definition in place of HD)
 * would lower green by 39.
 */
const COLOUR_TOLERANCE = 16;
const POINTS = BARS.map((_, index) => [(index + 0.5) / 8, 0.15] as const);

let stack: Stack;
let person: PersonSessions;
let token: string;
let appId: string;
let browser: Browser;
const viewers: FakeViewer[] = [];

beforeAll(async () => {
  stack = await startStack({ agentPreload: 'node-agent/src/media/testing/codec-encoders.ts' });
  ({ token } = await stack.claim());
  person = new PersonSessions(stack, token);
  appId = await person.app('A small picture', null);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  for (const viewer of viewers) await viewer.close();
  await person?.close();
  await stack?.stop();
});

async function launch(codec: string): Promise<string> {
  const { id } = await person.launch(appId, { codec });
  await person.reaches(id, 'app presented');
  return id;
}

async function open(id: string): Promise<Page> {
  const page = await browser.newPage();
  await signIn(page, token);
  await page.goto(`${stack.httpsUrl}/app/session/${id}`);
  return page;
}

function viewer(codecs: ('h264' | 'h265' | 'av1')[]): FakeViewer {
  const made = new FakeViewer({ codecs, decode: true });
  viewers.push(made);
  return made;
}

describe('a small picture', () => {
  test.each(['av1', 'h264'])(
    'in %s: Chromium shows the app’s colours, and the session reports the negotiated codec',
    async (codec) => {
      const id = await launch(codec);
      const page = await open(id);
      await eventually('the colour bars are in the decoded picture', PATIENCE_MS, async () => {
        const seen = await coloursAt(page, POINTS);
        return BARS.every((bar, index) => isNear(seen[index], bar, COLOUR_TOLERANCE)) || null;
      });
      const from = await framesShown(page);
      await eventually(
        'thirty more frames',
        PATIENCE_MS,
        async () => (await framesShown(page)) >= from + 30 || null,
      );
      const session = await person.read(id);
      expect([session.stream.codec, session.negotiated_codec]).toEqual([codec, codec]);
      await page.close();
      await person.stop(id);
    },
  );
});

describe('H.265', () => {
  test('a viewer that can decode it sees the picture of the app', async () => {
    const id = await launch('h265');
    const watching = viewer(['h264', 'h265']);
    await watching.connect(await person.access(id));
    await watching.connected(30_000);
    const picture = await watching.picture((one) => {
      return BARS.every((bar, index) => {
        const [x, y] = POINTS[index] ?? [0, 0];
        const at = (Math.floor(y * one.height) * one.width + Math.floor(x * one.width)) * 3;
        return isNear([one.rgb[at] ?? 0, one.rgb[at + 1] ?? 0, one.rgb[at + 2] ?? 0], bar);
      });
    });
    expect(picture).toMatchObject({ width: 320, height: 240 });
    expect((await person.read(id)).negotiated_codec).toBe('h265');

    // The session continues for viewers that can decode its codec.
    const without = viewer(['h264']);
    await without.connect(await person.access(id));
    expect(await without.message('error')).toMatchObject({ code: 'codec_unsupported', fatal: true });
    expect(await without.closed()).toBe(4415);
    const page = await open(id);
    await page.getByText(/cannot play/i).waitFor();
    await page.close();
    await watching.frames(5);
    await person.stop(id);
  });
});
