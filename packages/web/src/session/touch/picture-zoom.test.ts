import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pinched, settled, showing, WHOLE, within, type Zoom, type ZoomArea } from './picture-zoom.ts';

/** A phone held upright, with a wide picture. */
const PHONE: ZoomArea = {
  middle: { x: 195, y: 422 },
  area: { width: 390, height: 844 },
  picture: { width: 390, height: 219 },
};
const point = fc.record({ x: fc.integer({ min: 0, max: 390 }), y: fc.integer({ min: 0, max: 844 }) });
const pair = fc.tuple(point, point);

/** The point of the picture under a point of the page, measured from the middle, at scale 1. */
const under = (zoom: Zoom, at: { x: number; y: number }) => ({
  x: (at.x - PHONE.middle.x - zoom.x) / zoom.scale,
  y: (at.y - PHONE.middle.y - zoom.y) / zoom.scale,
});

function expectWithin({ scale, x, y }: Zoom): void {
  expect(scale).toBeGreaterThanOrEqual(1);
  expect(scale).toBeLessThanOrEqual(6);
  expect(Math.abs(x)).toBeLessThanOrEqual(Math.max(0, (PHONE.picture.width * scale - 390) / 2) + 1e-9);
  expect(Math.abs(y)).toBeLessThanOrEqual(Math.max(0, (PHONE.picture.height * scale - 844) / 2) + 1e-9);
}

describe('two fingers', () => {
  test('that move apart enlarge the picture around their middle', () => {
    const zoom = pinched(
      WHOLE,
      [
        { x: 145, y: 422 },
        { x: 245, y: 422 },
      ],
      [
        { x: 95, y: 422 },
        { x: 295, y: 422 },
      ],
      PHONE,
    );
    expect(zoom).toEqual({ scale: 2, x: 0, y: 0 });
  });

  test('keep the point under their middle, as long as the picture covers the area', () => {
    const big: ZoomArea = { ...PHONE, picture: PHONE.area };
    const from = [
      { x: 150, y: 400 },
      { x: 190, y: 400 },
    ] as const;
    const to = [
      { x: 130, y: 410 },
      { x: 220, y: 410 },
    ] as const;
    const start = within({ scale: 3, x: 20, y: -30 }, big);
    const zoom = pinched(start, from, to, big);
    expect(under(zoom, { x: 175, y: 410 }).x).toBeCloseTo(under(start, { x: 170, y: 400 }).x);
    expect(under(zoom, { x: 175, y: 410 }).y).toBeCloseTo(under(start, { x: 170, y: 400 }).y);
  });

  test('never move the picture out of the area', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(pair, pair), { maxLength: 20 }), (pinches) => {
        let zoom = WHOLE;
        for (const [from, to] of pinches) {
          zoom = pinched(zoom, from, to, PHONE);
          expectWithin(zoom);
        }
      }),
    );
  });

  test('that leave the picture nearly at its full size restore exactly that size', () => {
    expect(settled({ scale: 1.02, x: 3, y: 0 })).toEqual(WHOLE);
    expect(settled({ scale: 1.5, x: 3, y: 0 })).toEqual({ scale: 1.5, x: 3, y: 0 });
  });
});

test('the pointer is brought into the area, as far as the picture can move', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 6 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (scale, place) => {
        const zoom: Zoom = { scale, x: 0, y: 0 };
        const at = { x: 195 + (place - 0.5) * 390 * scale, y: 422 };
        const shown = showing(zoom, at, PHONE);
        expectWithin(shown);
        const now = at.x + shown.x - zoom.x;
        expect(now).toBeGreaterThanOrEqual(-1e-6);
        expect(now).toBeLessThanOrEqual(390 + 1e-6);
      },
    ),
  );
});
