import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { decodeInput, type InputMessage } from '@footlight/protocol/input';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { Fingers } from '../../src/browser/fingers.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { smallControls } from '../../src/browser/small-controls.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const images = path.resolve(import.meta.dirname, '../../../test-results');
const UPRIGHT = { width: 390, height: 844 };
const LYING = { width: 844, height: 390 };
/** A terminal that shows its input: keys, and the mouse as `ESC [ < button ; column ; row M`, m at a release. */
const TERMINAL = `stty raw -echo; printf '\\033[?1003h\\033[?1006h'; exec cat >$HOME/read`;

interface Mouse {
  /** 0 left, 2 right, 64 and 65 the wheel; 32 is added in a drag, 35 is a move */
  button: number;
  column: number;
  row: number;
  down: boolean;
}

describe.runIf(process.getuid?.() === 0)('a session on a phone', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let fingers: Fingers;
  let id: string;
  const padMessages: InputMessage[] = [];

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2' } });
    const { token } = await stack.claim();
    sessions = new PersonSessions(stack, token);
    const runtime_spec = { args: ['xterm', '-u8', '-e', '/bin/sh', '-c', TERMINAL] };
    const app = await sessions.app('Terminal', null, {}, { managed_home: true, runtime_spec });
    id = (await sessions.launch(app, { width: 1280, height: 720 })).id;
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser(UPRIGHT, { touch: true });
    page = await browser.newPage();
    await page.exposeFunction('padSent', (bytes: number[], lane: 'input' | 'motion') => {
      const decoded = decodeInput(Uint8Array.from(bytes), lane);
      if (decoded.kind === 'message') padMessages.push(decoded.message);
    });
    await givePads(page);
    await fakeKeyboard(page);
    await signIn(page, token);
    fingers = await Fingers.on(page);
    await open();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
  });

  async function open(): Promise<void> {
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually('the page shows the session', 30_000, async () => (await framesShown(page)) > 5 || null);
    await page.getByRole('textbox', { name: 'Type into the app' }).waitFor({ state: 'attached' });
  }

  /** All input that the terminal has read. */
  function read(): string {
    const homes = path.join(stack.directory, 'agent', 'homes');
    const [file] = readdirSync(homes, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith('/read'),
    );
    return file === undefined ? '' : readFileSync(path.join(homes, file), 'utf8');
  }
  let seen = 0;
  /** Input read since the last call of forget(). */
  const news = () => read().slice(seen);
  const forget = () => {
    seen = read().length;
  };
  const mice = (): Mouse[] =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal's own sequences
    [...news().matchAll(/\x1b\[<(\d+);(\d+);(\d+)([Mm])/g)].map(([, button, column, row, end]) => ({
      button: Number(button),
      column: Number(column),
      row: Number(row),
      down: end === 'M',
    }));
  /** Presses of buttons and turns of the wheel, without moves. */
  const presses = () => mice().filter(({ button }) => button < 32 || button >= 64);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  const typed = () => news().replace(/\x1b\[<[\d;]+[Mm]/g, '');

  /** The picture on the page, without its letterbox. */
  const picture = () =>
    page.evaluate(() => {
      const video = document.querySelector('video');
      if (video === null) throw new Error('no picture');
      const { left, top, width, height } = video.getBoundingClientRect();
      const scale = Math.min(width / video.videoWidth, height / video.videoHeight);
      const [w, h] = [video.videoWidth * scale, video.videoHeight * scale];
      return { left: left + (width - w) / 2, top: top + (height - h) / 2, width: w, height: h };
    });
  /** Converts a point of the picture to a point of the page. */
  const at = async (x: number, y: number): Promise<[number, number]> => {
    const { left, top, width, height } = await picture();
    return [left + x * width, top + y * height];
  };

  const bar = () => page.getByRole('toolbar', { name: 'Controls' });
  /** Opens the bar by a long press, or by the handle if the app gets long presses. */
  async function openBar(): Promise<void> {
    const handle = page.getByRole('button', { name: 'Show the controls' });
    // A bar that was already open may hide before the test uses it. A newly opened bar stays for four seconds.
    await bar().waitFor({ state: 'hidden' });
    if (await handle.isVisible()) await handle.tap();
    else {
      const { width = 0, height = 0 } = page.viewportSize() ?? {};
      await fingers.down([width / 2, height / 2 + 60]);
      await bar().waitFor({ state: 'visible' });
      await fingers.up();
    }
    await bar().waitFor({ state: 'visible' });
  }
  async function choose(...names: string[]): Promise<void> {
    await openBar();
    await bar().getByRole('button', { name: 'Touch and gamepad' }).tap();
    const dialog = page.getByRole('dialog', { name: 'Touch' });
    for (const name of names) await dialog.getByRole('button', { name, exact: true }).tap();
    await dialog.getByRole('button', { name: 'Close' }).tap();
    await dialog.waitFor({ state: 'hidden' });
    // The bar must be hidden first: while it is open, a press on the picture only closes the bar.
    await bar().waitFor({ state: 'hidden' });
  }

  test('a tap is a click at its position, and two fingers are a right click', async () => {
    forget();
    await fingers.tap(await at(0.25, 0.5));
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    const [left, right] = [await at(0.25, 0.5), await at(0.75, 0.5)];
    const [click] = presses();
    expect(click).toMatchObject({ button: 0, down: true });
    forget();
    await fingers.tap(left, right);
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    expect(presses()[0]).toMatchObject({ button: 2, down: true });
    // The position of the first finger, as for a tap.
    expect(Math.abs((presses()[0]?.column ?? 0) - (click?.column ?? 0))).toBeLessThanOrEqual(1);
  });

  test('a finger that draws holds the button until it lifts', async () => {
    forget();
    await fingers.drag([await at(0.2, 0.5)], [await at(0.8, 0.5)]);
    await fingers.up();
    await expect.poll(() => presses().map(({ down }) => down), { timeout: 20_000 }).toEqual([true, false]);
    const [press, release] = presses();
    expect((release?.column ?? 0) / (press?.column ?? 1)).toBeGreaterThan(3);
    expect(mice().some(({ button }) => button === 32)).toBe(true);
  });

  test('two parallel fingers scroll what is below them', async () => {
    forget();
    const [left, right] = [await at(0.3, 0.5), await at(0.5, 0.5)];
    const up = ([x, y]: [number, number]): [number, number] => [x, y - 120];
    await fingers.drag([left, right], [up(left), up(right)]);
    await fingers.up();
    await expect.poll(() => presses().some(({ button }) => button === 65), { timeout: 20_000 }).toBe(true);
    expect(presses().every(({ button }) => button === 65)).toBe(true);
    expect(await page.getByRole('button', { name: 'Show the whole picture' }).isVisible()).toBe(false);
  });

  test('two fingers enlarge the picture, a tap hits what it shows, and a button shows the whole picture', async () => {
    forget();
    const whole = await picture();
    const middle = await at(0.5, 0.5);
    await fingers.drag(
      [
        [middle[0] - 40, middle[1]],
        [middle[0] + 40, middle[1]],
      ],
      [
        [middle[0] - 120, middle[1]],
        [middle[0] + 120, middle[1]],
      ],
    );
    await fingers.up();
    const enlarged = await picture();
    expect(enlarged.width / whole.width).toBeGreaterThan(2);
    const back = page.getByRole('button', { name: 'Show the whole picture' });
    await back.waitFor();
    await page.screenshot({ path: path.join(images, 'touch-zoom.png') });
    expect(presses()).toEqual([]);
    const [x, y] = [330, middle[1]];
    const place = (x - enlarged.left) / enlarged.width;
    await fingers.tap([x, y]);
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    const column = presses()[0]?.column ?? 0;
    await back.tap();
    expect((await picture()).width).toBeCloseTo(whole.width);
    forget();
    await fingers.tap(await at(place, 0.5));
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    expect(Math.abs((presses()[0]?.column ?? 0) - column)).toBeLessThanOrEqual(1);
  });

  test('as a touch pad a finger moves the pointer, a tap clicks, two scroll, a long press drags', async () => {
    await choose('Touch pad');
    await page.getByRole('button', { name: 'Show the controls' }).waitFor();
    forget();
    // A drag works anywhere on the page, because the touch pad moves a pointer that starts in the middle of the
    // picture.
    await fingers.drag([[300, 700]], [[270, 700]], 6);
    await fingers.up();
    await fingers.tap([100, 100]);
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    const [click] = presses();
    expect(click).toMatchObject({ button: 0, down: true });
    await page.screenshot({ path: path.join(images, 'touch-pad-pointer.png') });
    forget();
    await fingers.tap([100, 100], [200, 100]);
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    expect(presses()[0]).toMatchObject({ button: 2, column: click?.column, row: click?.row });
    forget();
    await fingers.drag(
      [
        [100, 300],
        [200, 300],
      ],
      [
        [100, 180],
        [200, 180],
      ],
    );
    await fingers.up();
    // The content must move upwards with the fingers, so the wheel must turn down.
    await expect.poll(() => presses().some(({ button }) => button === 65), { timeout: 20_000 }).toBe(true);
    expect(presses().some(({ button }) => button === 64)).toBe(false);
    forget();
    await fingers.down([100, 300]);
    await expect.poll(presses, { timeout: 20_000 }).toMatchObject([{ button: 0, down: true }]);
    for (let x = 110; x <= 160; x += 10) await fingers.move([x, 300]);
    await fingers.up();
    await expect.poll(() => presses().map(({ down }) => down), { timeout: 20_000 }).toEqual([true, false]);
    expect(presses()[1]?.column ?? 0).toBeGreaterThan(presses()[0]?.column ?? 0);
  });

  test('this device stores the choice', async () => {
    await open();
    await page.getByRole('button', { name: 'Show the controls' }).waitFor();
    forget();
    await fingers.tap([100, 100]);
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    await choose('Direct touch');
  });

  test('the phone’s keyboard types, corrects and composes, with the whole picture above it', async () => {
    await openBar();
    forget();
    await bar().getByRole('button', { name: 'The keyboard of this device' }).tap();
    const keys = page.getByRole('toolbar', { name: 'More keys' });
    await keys.waitFor();
    await page.evaluate(() => window.coverBy(340));
    await expect
      .poll(async () => (await picture()).top + (await picture()).height)
      .toBeLessThanOrEqual(UPRIGHT.height - 340);
    const row = await keys.boundingBox();
    expect((row?.y ?? 0) + (row?.height ?? 0)).toBeLessThanOrEqual(UPRIGHT.height - 340 + 1);
    await page.screenshot({ path: path.join(images, 'touch-keyboard.png') });
    await fingers.insert('Grüße 🎭');
    await expect.poll(typed, { timeout: 20_000 }).toBe('Grüße 🎭');
    forget();
    for (const word of ['t', 'te', 'teh', 'the']) await fingers.compose(word);
    await fingers.insert('the ');
    // A correction deletes the typed part of the word.
    await expect.poll(typed, { timeout: 20_000 }).toBe('teh\x7f\x7fhe ');
    forget();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Backspace');
    await expect.poll(typed, { timeout: 20_000 }).toBe('\r\x7f');
    forget();
    await keys.getByRole('button', { name: 'Ctrl' }).tap();
    await fingers.insert('c');
    await keys.getByRole('button', { name: 'Up' }).tap();
    await expect.poll(typed, { timeout: 20_000 }).toBe('\x03\x1b[A');
    forget();
    await keys.getByRole('button', { name: 'Function keys' }).tap();
    await keys.getByRole('button', { name: 'F5', exact: true }).tap();
    await expect.poll(typed, { timeout: 20_000 }).toBe('\x1b[15~');
    await keys.getByRole('button', { name: 'Function keys' }).tap();
    await keys.getByRole('button', { name: 'Up' }).waitFor();
    // A tap in the app must keep the keyboard open.
    forget();
    await fingers.tap(await at(0.5, 0.5));
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    await fingers.insert('x');
    await expect.poll(typed, { timeout: 20_000 }).toBe('x');
    // Simulates that the phone closes its keyboard.
    await page.evaluate(() => window.coverBy(0));
    await keys.waitFor({ state: 'detached' });
    await expect.poll(async () => (await page.locator('video').boundingBox())?.height).toBe(UPRIGHT.height);
  });

  test('an on-screen gamepad is a gamepad for the app, with several fingers at once', async () => {
    await page.setViewportSize(LYING);
    await choose('Full gamepad');
    const pad = page.getByRole('group', { name: 'Gamepad on the screen' });
    await pad.waitFor();
    await page.screenshot({ path: path.join(images, 'touch-gamepad-full.png') });
    await expect
      .poll(() => padMessages.some(({ kind }) => kind === 'pad_on'), { timeout: 20_000 })
      .toBe(true);
    const middle = async (name: string): Promise<[number, number]> => {
      const box = await pad.locator(`[data-control="${name}"]`).boundingBox();
      if (box === null) throw new Error(`no ${name}`);
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const states = () => padMessages.filter((each) => each.kind === 'pad_state');
    const [stickX, stickY] = await middle('Left stick');
    padMessages.length = 0;
    forget();
    await fingers.down([stickX, stickY], await middle('A'));
    await fingers.move([stickX + 100, stickY], await middle('A'));
    await expect
      .poll(() => states().at(-1), { timeout: 20_000 })
      .toMatchObject({ buttons: 1, axes: [32_767, 0, 0, 0] });
    await fingers.up();
    await expect
      .poll(() => states().at(-1), { timeout: 20_000 })
      .toMatchObject({ buttons: 0, axes: [0, 0, 0, 0] });
    // No touch of a control reached the app. A tap on the picture between the controls must still reach the app.
    expect(presses()).toEqual([]);
    await fingers.tap(await at(0.5, 0.5));
    await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
    for (const name of ['Cross and buttons', 'Two sticks']) {
      await choose(name);
      await page.screenshot({ path: path.join(images, `touch-gamepad-${name.split(' ')[0]}.png`) });
    }
    await page.setViewportSize(UPRIGHT);
    await page.screenshot({ path: path.join(images, 'touch-gamepad-upright.png') });
    await choose('None');
    await expect
      .poll(() => padMessages.some(({ kind }) => kind === 'pad_off'), { timeout: 20_000 })
      .toBe(true);
  });

  test('the sides of the gamepad are dragged to where the thumbs are, and this device stores it', async () => {
    await page.setViewportSize(LYING);
    await choose('Cross and buttons');
    const pad = page.getByRole('group', { name: 'Gamepad on the screen' });
    const place = async (name: string) => {
      const { x = 0, y = 0 } = (await pad.locator(`[data-control="${name}"]`).boundingBox()) ?? {};
      return { x, y };
    };
    const move = async () => {
      await openBar();
      await bar().getByRole('button', { name: 'Touch and gamepad' }).tap();
      await page.getByRole('button', { name: 'Move the gamepad' }).tap();
      await page.getByText('Drag each side to where your thumbs are.').waitFor();
    };
    await pad.waitFor();
    const [cross, right] = [await place('Directions'), await place('A')];
    await move();
    forget();
    padMessages.length = 0;
    await page.screenshot({ path: path.join(images, 'touch-gamepad-move.png') });
    await fingers.down([cross.x + 40, cross.y + 40]);
    await fingers.move([cross.x + 110, cross.y - 20]);
    await fingers.up();
    await expect.poll(() => place('Directions')).toEqual({ x: cross.x + 70, y: cross.y - 60 });
    // Not a tap: to Chromium the quick drag is a fling, and the first tap after it only ends the fling.
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Drag each side to where your thumbs are.').waitFor({ state: 'hidden' });
    expect(await place('A')).toEqual(right);
    // The app got neither the drag nor a press of the pad.
    expect(presses()).toEqual([]);
    const pressed = padMessages.flatMap((each) => (each.kind === 'pad_state' ? [each.buttons] : []));
    expect(pressed.every((buttons) => buttons === 0)).toBe(true);
    await open();
    await pad.waitFor();
    expect(await place('Directions')).toEqual({ x: cross.x + 70, y: cross.y - 60 });
    await bar().waitFor({ state: 'hidden' });
    await move();
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => place('Directions')).toEqual(cross);
    await choose('None');
    await page.setViewportSize(UPRIGHT);
  });

  test('a gamepad opens the bar, moves through it, and returns to the app', async () => {
    await page.setViewportSize(LYING);
    await bar().waitFor({ state: 'hidden' });
    await plugPad(page);
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
    const isInBar = () => bar().evaluate((element) => element.contains(document.activeElement));
    // Presses two other buttons together, because many systems do not pass the middle button to browsers.
    await page.evaluate(() => window.holdPad(8, 9));
    await expect.poll(isInBar, { timeout: 20_000 }).toBe(true);
    await page.evaluate(() => window.holdPad());
    const first = await focused();
    await page.screenshot({ path: path.join(images, 'touch-bar-by-gamepad.png') });
    padMessages.length = 0;
    await page.evaluate(() => window.holdPad(15));
    await expect.poll(focused, { timeout: 20_000 }).not.toBe(first);
    await page.evaluate(() => window.holdPad());
    await page.evaluate(() => window.holdPad(1));
    await expect.poll(isInBar, { timeout: 20_000 }).toBe(false);
    // These presses did not reach the app. Later presses must reach it.
    const pressed = () => padMessages.flatMap((each) => (each.kind === 'pad_state' ? [each.buttons] : []));
    await page.evaluate(() => window.holdPad());
    await expect.poll(() => pressed().at(-1), { timeout: 20_000 }).toBe(0);
    expect(pressed().filter((buttons) => (buttons & ((1 << 15) | (1 << 1))) !== 0)).toEqual([]);
    await page.evaluate(() => window.holdPad(0));
    await expect.poll(() => pressed().at(-1), { timeout: 20_000 }).toBe(1);
    await page.evaluate(() => window.holdPad());
    await bar().waitFor({ state: 'hidden' });
    await page.evaluate(() => window.unplugPad());
    await page.setViewportSize(UPRIGHT);
  });

  test('after a rotation the picture is as large as possible, and the app takes the phone’s shape', async () => {
    await page.setViewportSize(LYING);
    await expect.poll(async () => (await picture()).height, { timeout: 20_000 }).toBe(LYING.height);
    await page.setViewportSize(UPRIGHT);
    await expect.poll(async () => (await picture()).width, { timeout: 20_000 }).toBe(UPRIGHT.width);
    await openBar();
    await bar().getByRole('button', { name: 'More' }).tap();
    await page.getByRole('button', { name: 'Fit the app to this window' }).tap();
    await bar().waitFor({ state: 'hidden' });
    /** The cell in the lower right corner. */
    const corner = async () => {
      forget();
      await fingers.tap([UPRIGHT.width - 3, UPRIGHT.height - 3]);
      await expect.poll(presses, { timeout: 20_000 }).toHaveLength(2);
      return presses()[0];
    };
    await eventually('a terminal upright', 30_000, async () => {
      const cell = await corner();
      return (cell && cell.row > 40 && cell.column < 80) || null;
    });
    await page.screenshot({ path: path.join(images, 'touch-upright.png') });
    await openBar();
    await bar().getByRole('button', { name: 'More' }).tap();
    await page.getByRole('button', { name: 'Stop fitting the app to this window' }).tap();
  });

  test('axe finds nothing in the bar and its dialogs, and every control is large enough for a finger', async () => {
    const problems: string[] = [];
    for (const size of [UPRIGHT, LYING]) {
      await page.setViewportSize(size);
      for (const name of ['Touch and gamepad', 'Keyboard', 'Files', 'More', 'End ']) {
        await openBar();
        for (const small of await smallControls(page)) problems.push(`${size.width}: bar: ${small}`);
        await bar()
          .getByRole('button', {
            name: name === 'Keyboard' ? /^Keyboard|^Type text/ : new RegExp(`^${name}`),
          })
          .tap();
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        await page.screenshot({
          path: path.join(images, `touch-dialog-${name.trim().split(' ')[0]}-${size.width}.png`),
        });
        for (const small of await smallControls(page)) problems.push(`${size.width}: ${name}: ${small}`);
        for (const problem of await accessibilityProblems(page)) problems.push(`${name}: ${problem}`);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'hidden' });
      }
    }
    expect(problems).toEqual([]);
  });
});

declare global {
  interface Window {
    padSent(bytes: number[], lane: 'input' | 'motion'): void;
    /** Covers this much of the page, like the phone's keyboard. */
    coverBy(pixels: number): void;
    /** Sets the buttons of the simulated pad that are down. */
    holdPad(...buttons: number[]): void;
    unplugPad(): void;
  }
}

/** A gamepad of the browser's standard mapping. */
async function plugPad(page: Page): Promise<void> {
  await page.evaluate(() => {
    let down: readonly number[] = [];
    const none = navigator.getGamepads.bind(navigator);
    const pad = () => ({
      ...{ id: 'Xbox pad', index: 0, connected: true, mapping: 'standard', axes: [0, 0, 0, 0], timestamp: 0 },
      buttons: Array.from({ length: 17 }, (_, index) => {
        const pressed = down.includes(index);
        return { pressed, touched: pressed, value: pressed ? 1 : 0 };
      }),
    });
    window.holdPad = (...buttons) => {
      down = buttons;
    };
    window.unplugPad = () => {
      Object.assign(navigator, { getGamepads: none });
      window.dispatchEvent(new Event('gamepaddisconnected'));
    };
    Object.assign(navigator, { getGamepads: () => [pad()] });
    window.dispatchEvent(new Event('gamepadconnected'));
  });
}

/**
 * Test machines have no input devices, so the page gets four simulated gamepads. The test reads the page's messages
 * about them.
 */
async function givePads(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const prototype = RTCDataChannel.prototype;
    const PAD_KINDS = [0x07, 0x08, 0x12];
    const send = prototype.send as (data: unknown) => void;
    Object.assign(prototype, {
      send(this: RTCDataChannel, data: unknown) {
        if (data instanceof Uint8Array && PAD_KINDS.includes(data[0] ?? 0))
          window.padSent([...data], this.label as 'input' | 'motion');
        else send.call(this, data);
      },
    });
    const onmessage = Object.getOwnPropertyDescriptor(prototype, 'onmessage');
    Object.defineProperty(prototype, 'onmessage', {
      set(this: RTCDataChannel, listener: (event: MessageEvent) => void) {
        onmessage?.set?.call(this, (event: MessageEvent) => {
          const { data } = event;
          const isHello = typeof data === 'string' && data.includes('"max_pads"');
          listener(
            isHello
              ? new MessageEvent('message', { data: data.replace(/"max_pads":\d+/, '"max_pads":4') })
              : event,
          );
        });
      },
    });
  });
}

/**
 * Chromium without a screen has no on-screen keyboard: the function changes the viewport as if a keyboard had opened.
 */
async function fakeKeyboard(page: Page): Promise<void> {
  await page.addInitScript(() => {
    let covered = 0;
    const viewport = Object.assign(new EventTarget(), { offsetTop: 0, height: 0, scale: 1 });
    Object.defineProperty(viewport, 'height', { get: () => window.innerHeight - covered });
    Object.defineProperty(window, 'visualViewport', { value: viewport });
    window.coverBy = (pixels) => {
      covered = pixels;
      viewport.dispatchEvent(new Event('resize'));
    };
  });
}
