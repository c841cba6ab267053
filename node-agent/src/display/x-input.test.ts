import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';
import { XInput } from './x-input.ts';

const [KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION] = [2, 3, 4, 5, 6];
const XKB_EVENT = 85;
const CAPS_LOCK = 58;
/** The first key of the map types an a, the others nothing. */
const MAP = [[0x61, 0x41], ...Array.from({ length: 8 }, () => [0, 0])];

/** What was injected: kind, detail, x, y. */
let injected: number[][];
let tell: (event: Partial<XEvent>) => void;
/** Lets the display answer what it was asked. */
let answer: () => void;
let input: XInput;

beforeEach(async () => {
  injected = [];
  const unanswered: (() => void)[] = [];
  answer = () => {
    for (const settle of unanswered.splice(0)) settle();
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
      EventType: { StateNotify: 4 },
      SelectEvents: () => undefined,
    },
  };
  const client = {
    on: (_name: string, listener: typeof tell) => {
      tell = listener;
    },
    require: (name: keyof typeof extensions, reply: (error: null, value: unknown) => void) =>
      reply(null, extensions[name]),
    GetKeyboardMapping: (_first: number, _count: number, reply: (error: null, value: unknown) => void) =>
      reply(null, MAP),
    QueryPointer: (_root: number, reply: (error: null, value: unknown) => void) =>
      reply(null, { keyMask: 0 }),
    ChangeKeyboardMapping: () => undefined,
  };
  const ask = (request: (reply: (error: null, value: unknown) => void) => void) =>
    new Promise((resolve) => request((_error, value) => resolve(value)));
  const settle = () => new Promise<void>((resolve) => unanswered.push(resolve));
  const display = { min_keycode: 8, max_keycode: 8 + MAP.length - 1 };
  input = await XInput.open({
    client,
    ask,
    settle,
    display,
    root: 1,
    closed: false,
  } as unknown as XConnection);
});

describe('behind a text that the display takes its time with', () => {
  beforeEach(() => input.text('漢'));

  test('everything waits, and the moves of the pointer are one', () => {
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

  test('moves that became one are no longer than the display takes', () => {
    for (let count = 0; count < 10; count++) input.moveBy(8_000, -8_000);
    input.dropText();
    expect(injected).toEqual([[MOTION, 1, 32_767, -32_768]]);
  });

  test('what is let go takes effect at once when the text is given up, and nothing of it is typed later', async () => {
    input.text('字');
    input.key(30, false);
    input.dropText();
    expect(injected).toEqual([[KEY_RELEASE, 38, 0, 0]]);
    answer();
    await new Promise((resolve) => setTimeout(resolve, 60));
    answer();
    expect(injected).toHaveLength(1);
  });

  test('no more than a thousand wait: then the text is given up, and no release is lost', () => {
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
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    input.key(30, true);
    now.mockReturnValue(3_001);
    answer();
    await vi.waitFor(() => expect(injected).toEqual([[KEY_PRESS, 38, 0, 0]]));
    now.mockRestore();
  });

  test('a text that comes after one that was given up is typed', async () => {
    input.dropText();
    input.text('a');
    await vi.waitFor(() => {
      answer();
      expect(injected).toEqual([
        [KEY_PRESS, 8, 0, 0],
        [KEY_RELEASE, 8, 0, 0],
      ]);
    });
  });
});

test('locks that an app sets are known, and those of keys as well', () => {
  expect(input.locks).toBe(0);
  input.key(CAPS_LOCK, true);
  expect(input.locks).toBe(1);
  tell({ type: XKB_EVENT, lockedMods: 0x10 });
  expect(input.locks).toBe(2);
  tell({ type: XKB_EVENT });
  expect(input.locks).toBe(2);
});
