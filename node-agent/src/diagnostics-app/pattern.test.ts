import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  barRectangles,
  detailsOf,
  FIELD_COLOURS,
  fieldRectangles,
  fullMotion,
  MOTION_COLOURS,
  movingRectangles,
  type Rectangle,
} from './pattern.ts';

const input = { width: 1280, height: 720, frame: 0, keyPresses: 0, buttonPresses: 0, lastPress: null };

function colourAt(rectangles: Rectangle[], x: number, y: number): number | undefined {
  return rectangles.findLast((r) => x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height)?.colour;
}

describe('the Diagnostics picture', () => {
  test('has no gap at any size, frame and input', () => {
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

  test('each press changes only the colour of its field', () => {
    const fields = fieldRectangles({ ...input, keyPresses: 1, buttonPresses: 2 });
    expect(colourAt(fields, 100, 650)).toBe(FIELD_COLOURS[1]);
    expect(colourAt(fields, 1200, 650)).toBe(FIELD_COLOURS[2]);
  });
});

describe('full motion', () => {
  test('has rectangles within the picture at any size, and the same ones for the same frame', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 16, max: 4096 }),
        fc.integer({ min: 16, max: 4096 }),
        fc.nat(65_535),
        fc.integer({ min: 1, max: 500 }),
        (width, height, frame, details) => {
          const motion = fullMotion({ width, height, frame }, details);
          expect(motion).toEqual(fullMotion({ width, height, frame }, details));
          expect(motion.rectangles).toHaveLength(MOTION_COLOURS.length);
          expect(motion.rectangles.flat()).toHaveLength(4 * details);
          for (const row of motion.rectangles)
            for (let i = 0; i < row.length; i += 4) {
              const [x = -1, y = -1, w = 0, h = 0] = row.slice(i, i + 4);
              expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
              expect(Math.min(w, h)).toBeGreaterThan(0);
              expect(x + w).toBeLessThanOrEqual(width);
              expect(y + h).toBeLessThanOrEqual(height);
            }
        },
      ),
    );
  });

  test('changes with each frame', () => {
    const size = { width: 1280, height: 720 };
    expect(fullMotion({ ...size, frame: 1 }, 100)).not.toEqual(fullMotion({ ...size, frame: 2 }, 100));
  });

  test('has more rectangles for a higher bitrate, and fewer per frame for a higher frame rate', () => {
    expect(detailsOf(12_000, 30)).toBe(3 * detailsOf(4_000, 30));
    expect(detailsOf(8_000, 60)).toBe(detailsOf(4_000, 30));
    expect(detailsOf(1, 240)).toBe(1);
  });
});
