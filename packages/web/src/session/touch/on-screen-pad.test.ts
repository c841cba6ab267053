// @vitest-environment happy-dom
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PadFingers, readingOf } from './pad-fingers.ts';
import {
  LEAST_PX,
  PAD_LAYOUTS,
  type PadControl,
  type PadLayoutName,
  type PadShift,
  placePad,
  shiftPad,
} from './pad-layouts.ts';
import { keepTouchChoice, readTouchChoice } from './touch-choice.ts';

const layout = fc.constantFrom(...PAD_LAYOUTS.map(({ name }) => name));
/** Phones and tablets, upright and sideways. */
const area = fc.oneof(
  fc.record({ width: fc.integer({ min: 320, max: 1400 }), height: fc.integer({ min: 400, max: 1400 }) }),
  fc.record({ width: fc.integer({ min: 568, max: 1400 }), height: fc.integer({ min: 320, max: 1400 }) }),
);
const phone = { width: 844, height: 390 };

const overlap = (a: PadControl, b: PadControl) =>
  a.left < b.left + b.size && b.left < a.left + a.size && a.top < b.top + b.size && b.top < a.top + a.size;

describe('the controls of a pad', () => {
  test('are inside the area, do not overlap, and are large enough for a finger', () => {
    fc.assert(
      fc.property(layout, area, (name, size) => {
        const controls = placePad(name, size);
        for (const control of controls) {
          // A cross has three fields on each side.
          const least = control.kind === 'cross' ? 3 * LEAST_PX : LEAST_PX;
          expect(control.size).toBeGreaterThanOrEqual(least);
          expect(control.left).toBeGreaterThanOrEqual(0);
          expect(control.top).toBeGreaterThanOrEqual(0);
          expect(control.left + control.size).toBeLessThanOrEqual(size.width);
          expect(control.top + control.size).toBeLessThanOrEqual(size.height);
        }
        for (const [at, one] of controls.entries())
          for (const other of controls.slice(at + 1))
            expect(overlap(one, other), `${one.label} and ${other.label}`).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('of the full pad are all seventeen buttons and four axes of the standard mapping', () => {
    const controls = placePad('full', phone);
    const buttons = controls.filter(({ kind }) => kind === 'button').map(({ index }) => index);
    expect([...buttons, 12, 13, 14, 15].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 17 }, (_, n) => n),
    );
    expect(controls.filter(({ kind }) => kind === 'stick').map(({ index }) => index)).toEqual([0, 2]);
    expect(controls.filter(({ kind }) => kind === 'cross')).toHaveLength(1);
  });
});

describe('a pad whose parts were moved', () => {
  const share = fc.double({ min: -1, max: 1, noNaN: true });
  const point = fc.record({ x: share, y: share });
  const shift = fc.record({ left: point, middle: point, right: point }, { requiredKeys: [] });

  test('stays inside the area, and its parts keep their shape', () => {
    fc.assert(
      fc.property(layout, area, shift, (name, size, moved) => {
        const placed = placePad(name, size);
        const shifted = shiftPad(placed, size, moved as PadShift);
        expect(shifted).toHaveLength(placed.length);
        for (const control of shifted) {
          expect(control.left).toBeGreaterThanOrEqual(0);
          expect(control.top).toBeGreaterThanOrEqual(0);
          expect(control.left + control.size).toBeLessThanOrEqual(size.width);
          expect(control.top + control.size).toBeLessThanOrEqual(size.height);
        }
        const by = (label: string) => {
          const from = placed.find((each) => each.label === label);
          const to = shifted.find((each) => each.label === label);
          return `${(to?.left ?? 0) - (from?.left ?? 0)} ${(to?.top ?? 0) - (from?.top ?? 0)}`;
        };
        for (const group of ['left', 'middle', 'right'])
          expect(
            new Set(placed.filter((each) => each.group === group).map(({ label }) => by(label))).size,
          ).toBe(1);
      }),
    );
  });

  test('does not move without a shift', () => {
    const placed = placePad('full', phone);
    const order = (a: PadControl, b: PadControl) => a.label.localeCompare(b.label);
    expect(shiftPad(placed, phone, {}).sort(order)).toEqual(placed.sort(order));
  });

  test('is stored with the choice, and a stored value that is no shift is ignored', () => {
    keepTouchChoice({ mode: 'pad', gamepad: 'full', shift: { left: { x: 0.1, y: -0.2 } } });
    expect(readTouchChoice()).toEqual({ mode: 'pad', gamepad: 'full', shift: { left: { x: 0.1, y: -0.2 } } });
    for (const wrong of [
      null,
      7,
      { left: { x: 2, y: 0 } },
      { left: { x: 'a', y: 0 } },
      { up: { x: 0, y: 0 } },
    ]) {
      localStorage.setItem('footlight.touch', JSON.stringify({ mode: 'pad', gamepad: 'full', shift: wrong }));
      expect(readTouchChoice().shift).toEqual({});
    }
  });
});

function pad(name: PadLayoutName = 'full') {
  const controls = placePad(name, phone);
  const fingers = new PadFingers(controls);
  const middle = (label: string, dx = 0, dy = 0) => {
    const found = controls.find((each) => each.label === label);
    if (found === undefined) throw new Error(`no ${label}`);
    const half = found.size / 2;
    return { x: found.left + half + dx * half, y: found.top + half + dy * half };
  };
  const pressed = () => [...fingers.picture.pressed].sort((a, b) => a - b);
  return { controls, fingers, middle, pressed, axes: () => readingOf(fingers.picture).axes };
}

describe('fingers on a pad', () => {
  test('press several buttons at once, and release each separately', () => {
    const { fingers, middle, pressed } = pad();
    fingers.down(1, middle('A'));
    fingers.down(2, middle('RT'));
    expect(pressed()).toEqual([0, 7]);
    expect(readingOf(fingers.picture).buttons[7]).toEqual({ pressed: true, value: 1 });
    fingers.up(1);
    expect(pressed()).toEqual([7]);
  });

  test('slide from one button to the next, and off it', () => {
    const { fingers, middle, pressed } = pad();
    fingers.down(1, middle('A'));
    fingers.move(1, middle('B'));
    expect(pressed()).toEqual([1]);
    fingers.move(1, { x: 420, y: 100 });
    expect(pressed()).toEqual([]);
  });

  test('outside every control press nothing', () => {
    const { fingers } = pad();
    expect(fingers.down(1, { x: 422, y: 60 })).toBe(false);
    expect(fingers.picture.pressed.size).toBe(0);
  });

  test.each([
    [0, -0.8, [12]],
    [0.6, -0.6, [12, 15]],
    [0.8, 0, [15]],
    [0.6, 0.6, [13, 15]],
    [0, 0.8, [13]],
    [-0.6, 0.6, [13, 14]],
    [-0.8, 0, [14]],
    [-0.6, -0.6, [12, 14]],
    [0.1, 0.1, []],
  ])('on the cross at %d, %d give the buttons %j', (dx, dy, wanted) => {
    const { fingers, middle, pressed } = pad();
    fingers.down(1, middle('Directions', dx, dy));
    expect(pressed()).toEqual(wanted);
  });

  test('move both sticks, at most to their ends, and release them', () => {
    const { fingers, middle, axes } = pad('sticks');
    fingers.down(1, middle('Left stick'));
    fingers.down(2, middle('Right stick', 0, 0.9));
    expect(axes()).toEqual([0, 0, 0, 1]);
    fingers.move(1, middle('Left stick', -3, 0));
    expect(axes().slice(0, 2)).toEqual([-1, 0]);
    fingers.up(1);
    fingers.up(2);
    expect(axes()).toEqual([0, 0, 0, 0]);
  });

  test('near the middle of a stick leave it at rest, and beyond it the value starts at 0', () => {
    const { fingers, middle, axes } = pad('sticks');
    fingers.down(1, middle('Left stick', 0.119, 0));
    expect(axes()[0]).toBe(0);
    fingers.move(1, middle('Left stick', 0.13, 0));
    expect(axes()[0]).toBeGreaterThan(0);
    expect(axes()[0]).toBeLessThan(0.05);
  });

  test('never push a stick out of its circle, and press no button that the layout lacks', () => {
    const step = fc.record({
      id: fc.integer({ min: 1, max: 5 }),
      action: fc.constantFrom('down', 'move', 'up'),
      x: fc.integer({ min: -50, max: 900 }),
      y: fc.integer({ min: -50, max: 450 }),
    });
    fc.assert(
      fc.property(layout, fc.array(step, { maxLength: 40 }), (name, steps) => {
        const { fingers } = pad(name);
        for (const { id, action, x, y } of steps) {
          if (action === 'down') fingers.down(id, { x, y });
          else if (action === 'move') fingers.move(id, { x, y });
          else fingers.up(id);
          const { axes, buttons } = readingOf(fingers.picture);
          expect(Math.hypot(axes[0] ?? 0, axes[1] ?? 0)).toBeLessThanOrEqual(1 + 1e-9);
          expect(Math.hypot(axes[2] ?? 0, axes[3] ?? 0)).toBeLessThanOrEqual(1 + 1e-9);
          expect(buttons).toHaveLength(17);
        }
        for (let id = 1; id <= 5; id++) fingers.up(id);
        expect(fingers.picture.pressed.size + fingers.picture.sticks.size).toBe(0);
      }),
    );
  });
});
