// @vitest-environment happy-dom
import type { InputMessage } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gamepads } from './gamepads.ts';
import { recordingSender } from './recording-sender.ts';

interface Pad {
  index: number;
  mapping: string;
  connected: boolean;
  buttons: { pressed: boolean; value: number }[];
  axes: number[];
  vibrationActuator?: unknown;
}

let present: (Pad | null)[];
let sent: InputMessage[];
let effects: unknown[];
let polls: (() => void)[];
let counts: number[];
let menus: boolean[];
let enabled: boolean;
let nowMs: number;
let pads: Gamepads;

function pad(index: number, over: Partial<Pad> = {}): Pad {
  return {
    index,
    mapping: 'standard',
    connected: true,
    buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })),
    axes: [0, 0, 0, 0],
    ...over,
  };
}

const actuator = {
  playEffect: (type: string, parameters: object) => {
    effects.push({ type, ...parameters });
    return Promise.resolve('complete');
  },
  reset: () => {
    effects.push('reset');
    return Promise.resolve('complete');
  },
};

beforeEach(() => {
  [present, sent, effects, polls, counts, menus] = [[], [], [], [], [], []];
  [enabled, nowMs] = [true, 0];
  Object.assign(navigator, { getGamepads: () => present });
  const environment = {
    monotonicMs: () => nowMs,
    setTimeout: () => ({ cancel: () => undefined }),
    setInterval: (work: () => void) => {
      polls.push(work);
      return { cancel: () => void polls.splice(polls.indexOf(work), 1) };
    },
  };
  const sender = recordingSender(environment, (message) => sent.push(message));
  pads = new Gamepads(environment, sender, {
    isEnabled: () => enabled,
    onCount: (count) => counts.push(count),
    onMenu: (drawn) => menus.push(drawn),
  });
});

afterEach(() => {
  pads.dispose();
  Object.defineProperty(document, 'hidden', { configurable: true, value: false });
});

const plug = (...now: (Pad | null)[]) => {
  present = now;
  window.dispatchEvent(new Event('gamepadconnected'));
};
const announced = () =>
  sent.flatMap((message) =>
    message.kind === 'pad_on' || message.kind === 'pad_off' ? [[message.kind, message.index]] : [],
  );

describe('gamepads of the page', () => {
  test('only pads with the standard mapping are announced, with whether they have rumble', () => {
    plug(pad(0, { mapping: '' }), pad(1, { vibrationActuator: actuator }), pad(2));
    expect(sent).toMatchObject([
      { kind: 'pad_on', index: 0, rumble: true },
      { kind: 'pad_on', index: 1, rumble: false },
    ]);
    expect(counts.at(-1)).toBe(2);
  });

  test('no more pads are announced than the session allows, and none if it allows none', () => {
    plug(pad(0), pad(1));
    sent = [];
    pads.announce(1);
    expect(announced()).toEqual([['pad_on', 0]]);
    sent = [];
    pads.announce(0);
    expect(announced()).toEqual([]);
    expect(counts.at(-1)).toBe(0);
    plug();
    expect(polls).toEqual([]);
  });

  test('a guest’s pad gets the index that the session names, also if it was plugged in before', () => {
    plug(pad(0), pad(1));
    sent = [];
    pads.announce(4, [2]);
    expect(announced()).toEqual([['pad_on', 2]]);
    pads.announce(4, [3, 2, 1, 0]);
    expect(announced().slice(1)).toEqual([
      ['pad_on', 2],
      ['pad_on', 3],
    ]);
  });

  test('a pad keeps its index on a new connection, also when other pads were removed', () => {
    plug(pad(0), pad(1));
    plug(null, pad(1));
    sent = [];
    pads.announce(4);
    expect(announced()).toEqual([['pad_on', 1]]);
  });

  test('an unplugged pad is announced as gone, and its index is free again', () => {
    plug(pad(0), pad(1));
    plug(null, pad(1));
    plug(null, pad(1), pad(2));
    expect(announced()).toEqual([
      ['pad_on', 0],
      ['pad_on', 1],
      ['pad_off', 0],
      ['pad_on', 0],
    ]);
  });

  test('states are sent with the index on the wire, and the guide button is reported once per press', () => {
    plug(null, pad(1));
    sent = [];
    const held = pad(1);
    held.buttons[16] = { pressed: true, value: 1 };
    present = [null, held];
    polls[0]?.();
    polls[0]?.();
    expect(sent).toMatchObject([{ kind: 'pad_state', index: 0, buttons: 1 << 16 }]);
    expect(menus).toEqual([false]);
  });

  test('View and Menu held for a second also request the menu, even if the session allows no pad', () => {
    pads.announce(0);
    const held = pad(0);
    plug(held);
    for (const button of [8, 9]) held.buttons[button] = { pressed: true, value: 1 };
    for (nowMs = 0; nowMs < 1000; nowMs += 100) polls[0]?.();
    expect(menus).toEqual([]);
    for (nowMs = 1000; nowMs < 2000; nowMs += 100) polls[0]?.();
    expect(menus).toEqual([false]);
    expect(announced()).toEqual([]);
  });

  test('a button that was pressed for the page is not sent to the app until it is released', () => {
    const held = pad(0);
    plug(held);
    sent = [];
    enabled = false;
    held.buttons[1] = { pressed: true, value: 1 };
    polls[0]?.();
    enabled = true;
    polls[0]?.();
    expect(sent).toEqual([]);
    held.buttons[1] = { pressed: false, value: 0 };
    polls[0]?.();
    expect(sent).toMatchObject([{ kind: 'pad_state', buttons: 0 }]);
  });

  test('rumble is played by the pad of that index, and a duration of 0 stops it', () => {
    plug(null, pad(1, { vibrationActuator: actuator }));
    const message = {
      kind: 'rumble',
      seq: 1,
      t: 0,
      index: 0,
      strong: 65_535,
      weak: 0,
      duration_ms: 200,
    } as const;
    pads.rumble(message);
    pads.rumble({ ...message, duration_ms: 0 });
    pads.rumble({ ...message, index: 3 });
    expect(effects).toEqual([
      { type: 'dual-rumble', duration: 200, strongMagnitude: 1, weakMagnitude: 0 },
      'reset',
    ]);
  });

  test('the page’s own pad is announced, read at once, kept on a new connection, and removed', () => {
    const reading = (pressed: boolean) => ({
      buttons: [{ pressed, value: pressed ? 1 : 0 }],
      axes: [0, 0, 0, 1],
    });
    plug(pad(3));
    sent = [];
    pads.setOnScreen(reading(false));
    pads.setOnScreen(reading(true));
    expect(announced()).toEqual([['pad_on', 1]]);
    expect(sent.filter((message) => message.kind === 'pad_state').at(-1)).toMatchObject({
      index: 1,
      buttons: 1,
      axes: [0, 0, 0, 32_767],
    });
    sent = [];
    pads.announce(4);
    expect(announced()).toEqual([
      ['pad_on', 0],
      ['pad_on', 1],
    ]);
    sent = [];
    pads.setOnScreen(null);
    expect(announced()).toEqual([['pad_off', 1]]);
    expect(counts.at(-1)).toBe(1);
  });

  test('rumble of the page’s own pad vibrates the device', () => {
    const shakes: number[] = [];
    Object.assign(navigator, { vibrate: (ms: number) => shakes.push(ms) > 0 });
    try {
      pads.setOnScreen({ buttons: [], axes: [] });
      expect(sent).toMatchObject([{ kind: 'pad_on', index: 0, rumble: true }]);
      const rumble = { kind: 'rumble', seq: 1, t: 0, index: 0, strong: 9, weak: 0 } as const;
      pads.rumble({ ...rumble, duration_ms: 200 });
      pads.rumble({ ...rumble, duration_ms: 0 });
      expect(shakes).toEqual([200, 0]);
    } finally {
      Reflect.deleteProperty(navigator, 'vibrate');
    }
  });

  test('a hidden page sends no pad states, because those that it reads are stale', () => {
    const held = pad(0);
    held.buttons[0] = { pressed: true, value: 1 };
    plug(held);
    sent = [];
    Object.defineProperty(document, 'hidden', { configurable: true, value: true });
    polls[0]?.();
    expect(sent).toEqual([]);
    Object.defineProperty(document, 'hidden', { configurable: true, value: false });
    polls[0]?.();
    expect(sent).toMatchObject([{ kind: 'pad_state', index: 0, buttons: 1 }]);
  });

  test('rumble stops when the picture is lost, and with the page', () => {
    plug(pad(0, { vibrationActuator: actuator }), pad(1));
    pads.stopRumble();
    expect(effects).toEqual(['reset']);
    pads.dispose();
    expect(effects).toEqual(['reset', 'reset']);
  });
});
