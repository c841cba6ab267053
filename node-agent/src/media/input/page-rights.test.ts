import type { InputMessage } from '@footlight/protocol/input';
import { describe, expect, test } from 'vitest';
import { mayInput, mayReceive, maySend, OWNER, type PageRights, padIndexes } from './page-rights.ts';

const watch: PageRights = { role: 'watch', padIndex: null };
const pad: PageRights = { role: 'gamepad', padIndex: 1 };
const full: PageRights = { role: 'full', padIndex: null };

const stamp = { seq: 1, t: 0 };
const state = { left_trigger: 0, right_trigger: 0, buttons: 1, axes: [0, 0, 0, 0] } as const;
const at = (index: number) => [
  { kind: 'pad_on', ...stamp, index, rumble: false } as const,
  { kind: 'pad_off', ...stamp, index } as const,
  { kind: 'pad_state', ...stamp, index, ...state, axes: [...state.axes] } as InputMessage,
];
const handsOnly: InputMessage[] = [
  { kind: 'key', ...stamp, code: 30, down: true, locks: 0 },
  { kind: 'text', ...stamp, text: 'x' },
  { kind: 'button', ...stamp, button: 0, down: true, position: null },
  { kind: 'wheel', ...stamp, dx: 0, dy: 120 },
  { kind: 'touch', ...stamp, action: 'down', contact: 0, x: 0, y: 0, pressure: 0 },
  { kind: 'pointer_abs', ...stamp, x: 0, y: 0 },
  { kind: 'pointer_rel', ...stamp, sum_x: 0, sum_y: 0 },
];

describe('input that reaches the session', () => {
  test.each([
    ['the owner', OWNER, true, true, true],
    ['a guest with full control', full, true, true, true],
    ['a guest with the second gamepad', pad, false, false, true],
    ['a guest who watches', watch, false, false, false],
  ] as const)('of %s', (_, rights, hands, firstPad, secondPad) => {
    expect(handsOnly.map((message) => mayInput(rights, message))).toEqual(handsOnly.map(() => hands));
    expect(mayInput(rights, { kind: 'release_all', ...stamp })).toBe(secondPad);
    expect(at(0).map((message) => mayInput(rights, message))).toEqual([firstPad, firstPad, firstPad]);
    expect(at(1).map((message) => mayInput(rights, message))).toEqual([secondPad, secondPad, secondPad]);
  });
});

test.each([
  [OWNER, null],
  [full, [3, 2, 1, 0]],
  [pad, [1]],
  [watch, []],
])('%j may use the gamepads %j', (rights, indexes) => {
  expect(padIndexes(rights, 4)).toEqual(indexes);
});

describe('control messages', () => {
  test('a guest of any role sends only those about the own connection', () => {
    const types = [
      'hello',
      'frame_timing',
      'clipboard',
      'freeze',
      'keyboard_layout',
      'window_use',
      'error',
    ] as const;
    expect(types.filter((type) => maySend(OWNER, type))).toEqual(types);
    for (const rights of [watch, pad, full])
      expect(types.filter((type) => maySend(rights, type))).toEqual([
        'hello',
        'frame_timing',
        'freeze',
        'error',
      ]);
  });

  test('a guest of any role gets neither clipboard nor windows nor the list of guests', () => {
    const types = ['clipboard', 'windows', 'keyboard_layout', 'guests', 'cursor', 'owner', 'bye'] as const;
    expect(types.filter((type) => mayReceive(OWNER, type))).toEqual(types);
    for (const rights of [watch, pad, full])
      expect(types.filter((type) => mayReceive(rights, type))).toEqual(['cursor', 'owner', 'bye']);
  });
});
