import { describe, expect, test } from 'vitest';
import { padKindOf, signOf } from './pad-kind.ts';
import { type Held, type PadReading, pressesOf } from './pad-presses.ts';

const XBOX = 'Xbox 360 Controller (STANDARD GAMEPAD Vendor: 045e Product: 028e)';
const DUALSENSE = 'Wireless Controller (STANDARD GAMEPAD Vendor: 054c Product: 0ce6)';
const SWITCH = 'Pro Controller (STANDARD GAMEPAD Vendor: 057e Product: 2009)';

const pad = (down: number[], axes: number[] = [0, 0], id = XBOX): PadReading => ({
  id,
  index: 0,
  axes,
  buttons: Array.from({ length: 17 }, (_none, index) => ({ pressed: down.includes(index) })),
});
const NONE: Held = new Map();
const actions = (reading: PadReading) => pressesOf(NONE, [reading], 0).presses.map(({ action }) => action);

describe('the labels on the buttons', () => {
  test.each([
    [XBOX, 'xbox', 'A', 'B', 'Y'],
    [DUALSENSE, 'playstation', '✕', '○', '△'],
    [SWITCH, 'nintendo', 'A', 'B', 'X'],
    ['Unknown pad', 'xbox', 'A', 'B', 'Y'],
  ] as const)('%s is %s: %s accepts, %s goes back, %s marks', (id, kind, accept, back, favourite) => {
    expect(padKindOf(id)).toBe(kind);
    expect([signOf(kind, 'accept'), signOf(kind, 'back'), signOf(kind, 'favourite')]).toEqual([
      accept,
      back,
      favourite,
    ]);
  });
});

describe('presses', () => {
  test('are the face buttons, the cross and the left stick', () => {
    expect(actions(pad([0]))).toEqual(['accept']);
    expect(actions(pad([0], [0, 0], SWITCH))).toEqual(['back']);
    expect(actions(pad([13]))).toEqual(['down']);
    expect(actions(pad([], [0.9, 0.6]))).toEqual(['right']);
    expect(actions(pad([], [0.2, -0.3]))).toEqual([]);
  });

  test('repeat while a direction is held, but not while a button is held', () => {
    let held = NONE;
    const at = (nowMs: number, down: number[]) => {
      const step = pressesOf(held, [pad(down)], nowMs);
      held = step.held;
      return step.presses.map(({ action, repeated }) => `${action}${repeated ? ' again' : ''}`);
    };
    expect(at(0, [13, 0])).toEqual(['accept', 'down']);
    expect(at(399, [13, 0])).toEqual([]);
    expect(at(400, [13, 0])).toEqual(['down again']);
    expect(at(489, [13, 0])).toEqual([]);
    expect(at(490, [13, 0])).toEqual(['down again']);
    expect(at(500, [])).toEqual([]);
    expect(at(510, [0])).toEqual(['accept']);
  });

  test('of two pads are kept apart', () => {
    const second = { ...pad([0]), index: 1 };
    const first = pressesOf(NONE, [pad([0]), null], 0);
    expect(pressesOf(first.held, [pad([0]), second], 10).presses).toHaveLength(1);
  });
});
