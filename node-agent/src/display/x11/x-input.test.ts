import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import type { XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';
import { XInput } from './x-input.ts';

const [KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION] = [2, 3, 4, 5, 6];
const XKB_EVENT = 85;
const CAPS_LOCK = 58;
const APPS_READ_MAP_MS = 30;
const SPARE_KEYS = Array.from({ length: 8 }, () => [0, 0]);
/** The first key of the map types "a"; the other keys have no character. */
const MAP = [[0x61, 0x41], ...SPARE_KEYS];

/** Injected events, as kind, detail, x, y. */
let injected: number[][];
let tell: (event: Partial<XEvent>) => void;
/** Makes the display answer the pending requests. */
let answer: () => void;
let input: XInput;
let clock: ManualClock;
/** Makes the display answer until all text is typed. */
let finishTyping: () => Promise<void>;
/** The keyboard map that the display returns, and the number of requests for it. */
let map: readonly (readonly number[])[];
let mapReads: number;
/** Keys that were remapped. */
let remapped: [keycode: number, keysym: number][];

beforeEach(async () => {
  injected = [];
  clock = new ManualClock();
  [map, mapReads, remapped] = [MAP, 0, []];
  const unanswered: (() => void)[] = [];
  answer = () => {
    for (const settle of unanswered.splice(0)) settle();
  };
  finishTyping = async () => {
    do {
      answer();
      await clock.pass(APPS_READ_MAP_MS);
    } while (unanswered.length > 0 || clock.pendingTimers > 0);
  };
  const extensions = {
    xtest: {
      KeyPress: KEY_PRESS,
      KeyRelease: KEY_RELEASE,
      ButtonPress: BUTTON_PRESS,
      ButtonRelease: BUTTON_RELEASE,
      MotionNotify: MOTION,
      FakeInput: (kind: number, detail: number, _time: number, _window: number, x: number, y: number) =>
        injected.push([kind, detail, x, y]),
    },
    xkb: {
      firstEvent: XKB_EVENT,
      UseCoreKbd: 256,
      EventType: { NewKeyboardNotify: 1, MapNotify: 2, StateNotify: 4 },
      SelectEvents: () => undefined,
    },
  };
  const client = {
    on: (_name: string, listener: typeof tell) => {
      tell = listener;
    },
    require: (name: keyof typeof extensions, reply: (error: null, value: unknown) => void) =>
      reply(null, extensions[name]),
    GetKeyboardMapping: (_first: number, _count: number, reply: (error: null, value: unknown) => void) => {
      mapReads++;
      reply(null, map);
    },
    QueryPointer: (_root: number, reply: (error: null, value: unknown) => void) =>
      reply(null, { keyMask: 0 }),
    ChangeKeyboardMapping: (keycode: number, _columns: number, [keysym = 0]: number[]) =>
      remapped.push([keycode, keysym]),
  };
  const request = (send: (reply: (error: null, value: unknown) => void) => void) =>
    new Promise((resolve) => send((_error, value) => resolve(value)));
  const settle = () => new Promise<void>((resolve) => unanswered.push(resolve));
  const display = { min_keycode: 8, max_keycode: 8 + MAP.length - 1 };
  input = await XInput.open({
    client,
    request,
    settle,
    display,
    root: 1,
    closed: false,
    clock,
  } as unknown as XConnection);
});

test.each(['key', 'button'] as const)('a %s counts as taken once the display has answered', async (kind) => {
  const told: string[] = [];
  input[kind](
    1,
    true,
    () => told.push('injected'),
    () => told.push('taken'),
  );
  await clock.pass(APPS_READ_MAP_MS);
  expect(told).toEqual(['injected']);
  answer();
  await clock.pass(0);
  expect(told).toEqual(['injected', 'taken']);
});

describe('input behind a text that the display processes slowly', () => {
  beforeEach(() => input.text('漢'));

  test('everything waits, and pointer moves are merged', () => {
    input.key(30, true);
    for (let step = 0; step < 5_000; step++) input.moveTo(step, step);
    input.moveBy(3, -4);
    input.button(0, true);
    expect(injected).toEqual([]);
    input.dropText();
    expect(injected).toEqual([
      [KEY_PRESS, 38, 0, 0],
      [MOTION, 0, 5_002, 4_995],
      [BUTTON_PRESS, 1, 0, 0],
    ]);
  });

  test('a press counts as injected only when it is sent to the display', () => {
    const told: string[] = [];
    input.key(30, true, () => told.push('key'));
    input.button(0, true, () => told.push('button'));
    expect(told).toEqual([]);
    input.dropText();
    expect(told).toEqual(['key', 'button']);
  });

  test('merged moves are limited to the range of a request', () => {
    for (let count = 0; count < 10; count++) input.moveBy(8_000, -8_000);
    input.dropText();
    expect(injected).toEqual([[MOTION, 1, 32_767, -32_768]]);
  });

  test('when the text is dropped, releases take effect at once, and the rest of the text is never typed', async () => {
    input.text('字');
    input.key(30, false);
    input.dropText();
    expect(injected).toEqual([[KEY_RELEASE, 38, 0, 0]]);
    await finishTyping();
    expect(injected).toHaveLength(1);
  });

  test('the text of one person is dropped, and the text of another is typed', async () => {
    const [alice, guest] = [{}, {}];
    input.dropText();
    input.text('a', alice);
    input.text('字', guest);
    input.dropText(guest);
    await finishTyping();
    expect(injected).toEqual([
      [KEY_PRESS, 8, 0, 0],
      [KEY_RELEASE, 8, 0, 0],
    ]);
  });

  test('at most a thousand inputs wait: then the text is dropped, and no release is lost', () => {
    for (let count = 0; count < 600; count++) {
      input.text('字');
      input.key(30, count % 2 === 0);
    }
    expect(injected.length).toBeGreaterThan(0);
    input.dropText();
    expect(injected.filter(([kind]) => kind === KEY_PRESS)).toHaveLength(300);
    expect(injected.filter(([kind]) => kind === KEY_RELEASE)).toHaveLength(300);
  });

  test('nothing waits longer than three seconds', async () => {
    input.key(30, true);
    clock.advance(3_001);
    await finishTyping();
    expect(injected).toEqual([[KEY_PRESS, 38, 0, 0]]);
  });

  test('a text after a dropped one is typed', async () => {
    input.dropText();
    input.text('a');
    await finishTyping();
    expect(injected).toEqual([
      [KEY_PRESS, 8, 0, 0],
      [KEY_RELEASE, 8, 0, 0],
    ]);
  });
});

describe('an app that changes the keyboard map', () => {
  const NEW_MAP = { type: XKB_EVENT, xkbType: 1 };
  const typed = async (count: number) => {
    await finishTyping();
    expect(injected.filter(([kind]) => kind === KEY_PRESS)).toHaveLength(count);
  };

  test('text is typed with the new map, which is read only once however often it changed', async () => {
    map = [[0x62, 0x42], [0x61, 0x41], ...SPARE_KEYS.slice(1)];
    for (let change = 0; change < 100; change++) tell(NEW_MAP);
    expect(mapReads).toBe(1);
    input.text('aa');
    await typed(2);
    expect(injected[0]).toEqual([KEY_PRESS, 9, 0, 0]);
    expect(mapReads).toBe(2);
  });

  test('a key that we remapped is still spare after our own change, but not after a change by the app', async () => {
    input.text('漢');
    await typed(1);
    expect(remapped).toHaveLength(1);
    const [[keycode, keysym] = [0, 0]] = remapped;
    map = MAP.map((row, index) => (8 + index === keycode ? [keysym, keysym] : row));
    tell(NEW_MAP);
    input.text('漢');
    await typed(2);
    expect(remapped).toHaveLength(1);
    // The text needs every spare key, including the key that was used before.
    input.text('一二三四五六七八');
    await typed(10);
    expect(new Set(remapped.slice(1).map(([code]) => code)).size).toBe(8);
    map = MAP.map((row, index) => (8 + index === keycode ? [0x7a, 0x5a] : row));
    tell(NEW_MAP);
    input.text('z');
    await typed(11);
    expect(injected.findLast(([kind]) => kind === KEY_PRESS)).toEqual([KEY_PRESS, keycode, 0, 0]);
  });
});

test('locks set by an app are detected, and locks set by keys too', () => {
  expect(input.locks).toBe(0);
  input.key(CAPS_LOCK, true);
  expect(input.locks).toBe(1);
  tell({ type: XKB_EVENT, lockedMods: 0x10 });
  expect(input.locks).toBe(2);
  tell({ type: XKB_EVENT });
  expect(input.locks).toBe(2);
});
