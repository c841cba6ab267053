import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  barRectangles,
  FIELD_COLOURS,
  fieldRectangles,
  movingRectangles,
  type Rectangle,
} from './pattern.ts';

const input = { width: 1280, height: 720, frame: 0, keyPresses: 0, buttonPresses: 0, lastPress: null };

function colourAt(rectangles: Rectangle[], x: number, y: number): number | undefined {
  return rectangles.findLast((r) => x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height)?.colour;
}

describe('the Diagnostics picture', () => {
  test('has no hole at any size, frame and input', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 64, max: 4096 }),
        fc.integer({ min: 64, max: 4096 }),
        fc.nat(70_000),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (width, height, frame, fx, fy) => {
          const all = { ...input, width, height, frame };
          const rectangles = [
            ...barRectangles(width, height),
            ...movingRectangles(all),
            ...fieldRectangles(all),
          ];
          expect(colourAt(rectangles, Math.floor(fx * width), Math.floor(fy * height))).toBeTypeOf('number');
          for (const r of rectangles) {
            expect(r.width).toBeGreaterThan(0);
            expect(r.x + r.width).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });

  test('carries the frame number, the highest bit left', () => {
    fc.assert(
      fc.property(fc.nat(65_535), (frame) => {
        const rectangles = movingRectangles({ ...input, frame });
        const bits = Array.from({ length: 16 }, (_, i) =>
          colourAt(rectangles, i * 80 + 40, 252) === 0xffffff ? 1 : 0,
        );
        expect(Number.parseInt(bits.join(''), 2)).toBe(frame);
      }),
    );
  });

  test('each press takes the next colour of its own field only', () => {
    const fields = fieldRectangles({ ...input, keyPresses: 1, buttonPresses: 2 });
    expect(colourAt(fields, 100, 650)).toBe(FIELD_COLOURS[1]);
    expect(colourAt(fields, 1200, 650)).toBe(FIELD_COLOURS[2]);
  });
});
