import type { InputMessage } from '@footlight/protocol/input';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PadSnapshot } from '../../input/virtual-pad.ts';
import { InputGuard } from './input-guard.ts';
import { type InputAction, InputState } from './input-state.ts';

const make = (hasTouchScreen = false) =>
  new InputState({ width: 1281, height: 721, maxPads: 2, hasTouchScreen });
const key = (code: number, down: boolean, locks = 0): InputMessage => ({
  kind: 'key',
  seq: 1,
  t: 0,
  code,
  down,
  locks,
});
const button = (
  which: number,
  down: boolean,
  t = 0,
  position: { x: number; y: number } | null = null,
): InputMessage => ({
  kind: 'button',
  seq: 1,
  t,
  button: which,
  down,
  position,
});
const moveTo = (seq: number, x: number, y: number, t = 0): InputMessage => ({
  kind: 'pointer_abs',
  seq,
  t,
  x,
  y,
});
const moveBy = (seq: number, sum_x: number, sum_y: number): InputMessage => ({
  kind: 'pointer_rel',
  seq,
  t: 0,
  sum_x,
  sum_y,
});

describe('keys and buttons', () => {
  test('down on a held key and up on a free one are ignored', () => {
    const state = make();
    expect(state.apply(key(30, false), 0)).toBeNull();
    expect(state.apply(key(30, true), 0)).toEqual([{ do: 'key', code: 30, down: true }]);
    expect(state.apply(key(30, true), 0)).toBeNull();
    expect(state.apply(key(30, false), 0)).toEqual([{ do: 'key', code: 30, down: false }]);
  });

  test('lock keys are tapped first where the bits differ', () => {
    expect(make().apply(key(30, true, 3), 2)).toEqual([
      { do: 'key', code: 58, down: true },
      { do: 'key', code: 58, down: false },
      { do: 'key', code: 30, down: true },
    ]);
  });

  test('a lock key itself is not corrected', () => {
    expect(make().apply(key(58, true, 1), 0)).toEqual([{ do: 'key', code: 58, down: true }]);
  });

  test('a click is applied at its own position', () => {
    expect(make().apply(button(0, true, 5, { x: 65_535, y: 0 }), 0)).toEqual([
      { do: 'move_to', x: 1280, y: 0 },
      { do: 'button', button: 0, down: true },
    ]);
  });
});

describe('motion', () => {
  test('older and repeated messages are dropped, also over the wrap of the numbers', () => {
    const state = make();
    expect(state.apply(moveTo(0xffff_ffff, 0, 0), 0)).not.toBeNull();
    expect(state.apply(moveTo(0, 0, 0), 0)).not.toBeNull();
    expect(state.apply(moveTo(0xffff_ffff, 9, 9), 0)).toBeNull();
    expect(state.apply(moveBy(0, 1, 1), 0)).toBeNull();
  });

  test('a move that is older than the last click is dropped', () => {
    const state = make();
    state.apply(button(0, true, 1000), 0);
    expect(state.apply(moveTo(1, 5, 5, 999), 0)).toBeNull();
    expect(state.apply(moveTo(2, 5, 5, 1000), 0)).not.toBeNull();
  });

  test('totals: the first sets the base, a lost message has no effect, fractions of pixels add up', () => {
    const state = make();
    expect(state.apply(moveBy(1, 1000, 0), 0)).toEqual([]);
    expect(state.apply(moveBy(2, 1008, 0), 0)).toEqual([]);
    expect(state.apply(moveBy(4, 1048, -32), 0)).toEqual([{ do: 'move_by', dx: 3, dy: -2 }]);
  });

  test('a jump resets the base, and totals wrap', () => {
    const state = make();
    state.apply(moveBy(1, 0, 0), 0);
    expect(state.apply(moveBy(2, 16 * 8193, 0), 0)).toEqual([]);
    expect(state.apply(moveBy(3, 16 * 8194, 0), 0)).toEqual([{ do: 'move_by', dx: 1, dy: 0 }]);
    const wrapping = make();
    wrapping.apply(moveBy(1, 2 ** 31 - 16, 0), 0);
    expect(wrapping.apply(moveBy(2, -(2 ** 31), 0), 0)).toEqual([{ do: 'move_by', dx: 1, dy: 0 }]);
  });

  test('wheel units add up to clicks', () => {
    const state = make();
    const wheel = (dx: number, dy: number): InputMessage => ({ kind: 'wheel', seq: 1, t: 0, dx, dy });
    expect(state.apply(wheel(0, 60), 0)).toEqual([]);
    expect(state.apply(wheel(0, 60), 0)).toEqual([{ do: 'wheel', clicksX: 0, clicksY: 1 }]);
    expect(state.apply(wheel(-240, 0), 0)).toEqual([{ do: 'wheel', clicksX: -2, clicksY: 0 }]);
  });

  test('the first contact drives the pointer', () => {
    const state = make();
    const touch = (action: 'down' | 'move' | 'up', contact: number): InputMessage => ({
      kind: 'touch',
      seq: 1,
      t: 0,
      action,
      contact,
      x: 0,
      y: 0,
      pressure: 0,
    });
    expect(state.apply(touch('move', 0), 0)).toBeNull();
    expect(state.apply(touch('down', 0), 0)).toEqual([
      { do: 'move_to', x: 0, y: 0 },
      { do: 'button', button: 0, down: true },
    ]);
    expect(state.apply(touch('down', 1), 0)).toEqual([]);
    expect(state.apply(touch('up', 0), 0)?.at(-1)).toEqual({ do: 'button', button: 0, down: false });
    expect(state.apply(touch('up', 0), 0)).toBeNull();
  });
});

describe('with a touch screen', () => {
  const touch = (action: 'down' | 'move' | 'up' | 'cancel', contact: number, seq = 1): InputMessage => ({
    kind: 'touch',
    ...{ seq, t: 0, action, contact, x: 65_535, y: 0, pressure: 0 },
  });
  const AT = { x: 1280, y: 0 };

  test('every contact is separate, and none moves the pointer', () => {
    const state = make(true);
    expect(state.apply(touch('down', 0), 0)).toEqual([{ do: 'contact', contact: 0, at: AT }]);
    expect(state.apply(touch('down', 7), 0)).toEqual([{ do: 'contact', contact: 7, at: AT }]);
    expect(state.apply(touch('move', 7), 0)).toEqual([{ do: 'contact', contact: 7, at: AT }]);
    expect(state.apply(touch('up', 7), 0)).toEqual([{ do: 'contact', contact: 7, at: null }]);
    expect(state.apply(touch('cancel', 0), 0)).toEqual([{ do: 'contact', contact: 0, at: null }]);
    expect(state.holdsAnything).toBe(false);
  });

  test('a contact that is not down is neither moved nor lifted; a contact that is down cannot go down again', () => {
    const state = make(true);
    expect(state.apply(touch('move', 3), 0)).toBeNull();
    expect(state.apply(touch('up', 3), 0)).toBeNull();
    state.apply(touch('down', 3), 0);
    expect(state.apply(touch('down', 3), 0)).toBeNull();
  });

  test('a late move is dropped, separately for each contact', () => {
    const state = make(true);
    for (const contact of [0, 1]) state.apply(touch('down', contact), 0);
    expect(state.apply(touch('move', 0, 9), 0)).not.toBeNull();
    expect(state.apply(touch('move', 0, 8), 0)).toBeNull();
    expect(state.apply(touch('move', 1, 8), 0)).not.toBeNull();
  });

  test('releasing everything lifts all pressed keys and buttons', () => {
    const state = make(true);
    for (const contact of [0, 4]) state.apply(touch('down', contact), 0);
    expect(state.release()).toEqual([
      { do: 'contact', contact: 0, at: null },
      { do: 'contact', contact: 4, at: null },
    ]);
    expect(state.release()).toEqual([]);
  });
});

test('a button that the mouse released is not released again by the finger', () => {
  const state = make();
  const touch = { kind: 'touch', seq: 1, t: 0, contact: 1, x: 0, y: 0, pressure: 0 } as const;
  state.apply({ ...touch, action: 'down' }, 0);
  state.apply(button(0, false), 0);
  expect(state.apply({ ...touch, action: 'cancel' }, 0)).toEqual([]);
});

describe('gamepads', () => {
  const on = (index: number, rumble = false): InputMessage => ({
    kind: 'pad_on',
    seq: 1,
    t: 0,
    index,
    rumble,
  });
  const off = (index: number): InputMessage => ({ kind: 'pad_off', seq: 1, t: 0, index });
  const still = { left_trigger: 0, right_trigger: 0, buttons: 0, axes: [0, 0, 0, 0] } as PadSnapshot;
  const pad = (index: number, seq: number, over: Partial<PadSnapshot> = {}): InputMessage => ({
    kind: 'pad_state',
    seq,
    t: 0,
    index,
    ...still,
    ...over,
  });

  test('a pad state is applied only while its index is on', () => {
    const state = make();
    expect(state.apply(pad(0, 1, { buttons: 1 }), 0)).toBeNull();
    expect(state.apply(on(0), 0)).toEqual([{ do: 'pad_on', index: 0 }]);
    expect(state.apply(pad(0, 2, { buttons: 1 }), 0)).toEqual([
      { do: 'pad', index: 0, snapshot: { ...still, buttons: 1 } },
    ]);
    expect(state.apply(pad(1, 3), 0)).toBeNull();
    expect(state.apply(off(0), 0)).toEqual([{ do: 'pad_off', index: 0 }]);
    expect(state.apply(off(0), 0)).toBeNull();
    expect(state.apply(pad(0, 4), 0)).toBeNull();
  });

  test('an index that the session does not have is ignored', () => {
    expect(make().apply(on(2), 0)).toBeNull();
  });

  test('each pad has its own order: older states are dropped', () => {
    const state = make();
    state.apply(on(0), 0);
    state.apply(on(1), 0);
    expect(state.apply(pad(0, 9), 0)).not.toBeNull();
    expect(state.apply(pad(0, 9), 0)).toBeNull();
    expect(state.apply(pad(0, 8), 0)).toBeNull();
    expect(state.apply(pad(1, 8), 0)).not.toBeNull();
  });

  test('releasing makes a held pad neutral once, and keeps it connected', () => {
    const state = make();
    state.apply(on(0), 0);
    state.apply(pad(0, 1, { axes: [0, -1, 0, 0] }), 0);
    expect(state.holdsAnything).toBe(true);
    expect(state.release()).toEqual([{ do: 'pad', index: 0, snapshot: still }]);
    expect(state.holdsAnything).toBe(false);
    expect(state.release()).toEqual([]);
    expect(state.pads).toEqual(new Set([0]));
  });

  test('rumble is for pads that announced it', () => {
    const state = make();
    state.apply(on(0, true), 0);
    state.apply(on(1, false), 0);
    expect([0, 1, 2].map((index) => state.canRumble(index))).toEqual([true, false, false]);
  });
});

describe('release', () => {
  test('after three seconds of silence, and only if something is held', () => {
    const state = make();
    state.heard(1000);
    expect(state.isSilent(99_000)).toBe(false);
    state.apply(key(30, true), 0);
    expect(state.isSilent(3999)).toBe(false);
    expect(state.isSilent(4000)).toBe(true);
  });

  test('every pressed key is released exactly once', () => {
    const message = fc.oneof(
      fc.record({
        kind: fc.constant('key' as const),
        code: fc.integer({ min: 1, max: 20 }),
        down: fc.boolean(),
      }),
      fc.record({ kind: fc.constant('button' as const), button: fc.nat(4), down: fc.boolean() }),
      fc.record({
        kind: fc.constant('touch' as const),
        contact: fc.nat(2),
        action: fc.constantFrom('down', 'up', 'cancel'),
      }),
      fc.record({ kind: fc.constant('release_all' as const) }),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 80 }), (messages) => {
        const state = make();
        const down = new Set<string>();
        const perform = (actions: InputAction[] | null) => {
          for (const action of actions ?? []) {
            if (action.do !== 'key' && action.do !== 'button') continue;
            const name = action.do === 'key' ? `k${action.code}` : `b${action.button}`;
            // A key must not be pressed twice or released twice in a row.
            expect(down.has(name)).toBe(!action.down);
            if (action.down) down.add(name);
            else down.delete(name);
          }
        };
        for (const part of messages) {
          const full = {
            seq: 1,
            t: 0,
            locks: 0,
            position: null,
            x: 0,
            y: 0,
            pressure: 0,
            ...part,
          } as unknown as InputMessage;
          perform(state.apply(full, 0));
        }
        perform(state.release());
        expect([...down]).toEqual([]);
        expect(state.holdsAnything).toBe(false);
      }),
    );
  });
});

describe('rate limits of a viewer’s messages', () => {
  test('more than 500 inputs a second for five seconds are a flood; a burst is not', () => {
    const guard = new InputGuard();
    let cut: number | null = null;
    for (let ms = 0; ms < 8000 && cut === null; ms++) if (guard.input(ms)) cut = ms;
    expect(cut).toBeGreaterThanOrEqual(5000);
    expect(cut).toBeLessThan(7000);
    const calm = new InputGuard();
    for (let second = 0; second < 20; second += 2) {
      for (let index = 0; index < 800; index++) expect(calm.input(second * 1000 + index)).toBe(false);
    }
  });

  test('200 malformed messages in 10 s, surplus motion and pings', () => {
    const guard = new InputGuard();
    const verdicts = Array.from({ length: 200 }, (_, index) => guard.malformed(index * 50));
    expect(verdicts.indexOf(true)).toBe(199);
    const slow = new InputGuard();
    expect(Array.from({ length: 400 }, (_, index) => slow.malformed(index * 60)).some(Boolean)).toBe(false);
    expect(Array.from({ length: 2500 }, () => guard.motion(0)).filter(Boolean)).toHaveLength(2000);
    expect(Array.from({ length: 20 }, () => guard.ping(0)).filter(Boolean)).toHaveLength(10);
  });
});
