import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ShownWindow } from '../../display/x11/x-windows.ts';
import { FIT_AFTER_MS, FIT_PERIOD_MS, MAX_FITS, WindowFit } from './window-fit.ts';

const BASE = { width: 1280, height: 720 };

function shown(over: Partial<ShownWindow> = {}): ShownWindow {
  return { id: 1, width: 800, height: 600, isMain: true, fixed: null, ...over };
}
const FIXED = shown({ fixed: { width: 800, height: 600 } });

describe('a window that does not fill the display', () => {
  test.each([
    ['alone, of a fixed size', [FIXED], { width: 800, height: 600 }],
    ['alone, and it does not follow the window manager', [shown()], { width: 800, height: 600 }],
    [
      'of a fixed size, but as large as the display anyway',
      [shown({ ...BASE, fixed: { width: 640, height: 480 } })],
      { width: 640, height: 480 },
    ],
    ['of odd sides', [shown({ width: 641, height: 479 })], { width: 642, height: 480 }],
    ['none', [], null],
    ['with another one', [FIXED, shown({ id: 2 })], null],
    ['a dialog', [shown({ isMain: false })], null],
    ['as large as the display', [shown(BASE)], null],
    ['less than a row and column smaller than the display', [shown({ width: 1273, height: 709 })], null],
    ['larger than the display', [shown({ width: 1920, height: 1080 })], null],
    ['wider than the display', [shown({ fixed: { width: 1920, height: 600 } })], null],
    ['too small for a picture', [shown({ width: 100, height: 20 })], null],
  ] as const)('%s', (_name, windows, fit) => {
    const rule = new WindowFit();
    const first = rule.decide(windows, BASE, 1_000);
    expect(first.fit).toBeNull();
    expect(first.againAtMs).toBe(fit === null ? null : 1_000 + FIT_AFTER_MS);
    expect(rule.decide(windows, BASE, 1_000 + FIT_AFTER_MS).fit).toEqual(fit);
  });
});

describe('a display that has the size of a window', () => {
  function fitted(): WindowFit {
    const rule = new WindowFit();
    rule.decide([FIXED], BASE, 0);
    expect(rule.decide([FIXED], BASE, FIT_AFTER_MS).fit).not.toBeNull();
    return rule;
  }

  test.each([
    ['keeps it while the window does', [FIXED], { width: 800, height: 600 }],
    ['keeps it for one that fills it without hints', [shown()], { width: 800, height: 600 }],
    ['drops it when the window is gone', [], null],
    ['drops it for a second window', [FIXED, shown({ id: 2, isMain: false })], null],
    ['drops it when the window wants to grow', [shown({ fixed: { width: 1024, height: 700 } })], null],
    ['drops it when the window wants to be as large as the display', [shown({ fixed: BASE })], null],
  ] as const)('%s', (_name, windows, fit) => {
    expect(fitted().decide(windows, BASE, FIT_AFTER_MS + 1).fit).toEqual(fit);
  });

  test('adopts another size of the window when that size is stable', () => {
    const rule = fitted();
    const other = shown({ fixed: { width: 1024, height: 700 } });
    expect(rule.decide([other], BASE, 5_000)).toEqual({ fit: null, againAtMs: 5_000 + FIT_AFTER_MS });
    expect(rule.decide([other], BASE, 5_000 + FIT_AFTER_MS).fit).toEqual({ width: 1024, height: 700 });
  });
});

test('an app that changes its window all the time does not change the display', () => {
  const rule = new WindowFit();
  for (let nowMs = 0; nowMs < 60_000; nowMs += 500) {
    const side = 300 + (nowMs % 1_000);
    expect(rule.decide([shown({ width: side, height: side })], BASE, nowMs).fit).toBeNull();
  }
});

test('for any app, the display changes only a few times per minute', () => {
  const step = fc.record({
    waitMs: fc.nat(3_000),
    side: fc.integer({ min: 160, max: 800 }),
    count: fc.nat(2),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const rule = new WindowFit();
      const takenAtMs: number[] = [];
      let before: object | null = null;
      let nowMs = 0;
      for (const { waitMs, side, count } of steps) {
        nowMs += waitMs;
        const windows = Array.from({ length: count }, (_, id) => shown({ id, width: side, height: 600 }));
        for (const atMs of [nowMs, nowMs + FIT_AFTER_MS]) {
          const { fit } = rule.decide(windows, BASE, atMs);
          if (fit !== null && fit !== before) takenAtMs.push(atMs);
          before = fit;
        }
        nowMs += FIT_AFTER_MS;
      }
      takenAtMs.forEach((atMs, index) => {
        const sixth = takenAtMs[index + MAX_FITS];
        if (sixth !== undefined) expect(sixth - atMs).toBeGreaterThanOrEqual(FIT_PERIOD_MS);
      });
    }),
  );
});
