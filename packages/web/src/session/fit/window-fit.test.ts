import type { Display } from '@footlight/protocol/input';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideFit,
  decideRelease,
  type FitBounds,
  type PictureArea,
  pictureScale,
  renderFor,
  streamFor,
} from './window-fit.ts';

const FULL_HD: FitBounds = {
  launch: { width: 1920, height: 1080 },
  rungs: [
    [1920, 1080],
    [1600, 900],
    [1280, 720],
  ],
  resizable: true,
};
const area = (width: number, height: number, dpr = 1): PictureArea => ({ width, height, dpr });
const display = (part: Partial<Display> = {}): Display => ({
  type: 'display',
  render_width: 1920,
  render_height: 1080,
  ui_scale: 1,
  stream_width: 1920,
  stream_height: 1080,
  owner: 'auto',
  ...part,
});

describe('the display size for a window', () => {
  test.each<[string, PictureArea, number, number]>([
    ['has its pixels', area(1200, 800), 1200, 800],
    ['counts those of the screen, not of the page', area(600, 400, 2), 1200, 800],
    ['has its shape where the launch size is too small', area(3840, 2400), 1728, 1080],
    ['stands upright on a phone', area(390, 844, 3), 500, 1080],
    ['has even sides', area(1201, 801.4), 1202, 802],
    ['is the whole one where next to nothing is missing', area(1916, 1078), 1920, 1080],
    ['is the whole one in a larger window of its shape', area(2560, 1440), 1920, 1080],
    ['is no smaller than an app can use', area(200, 100), 480, 240],
  ])('%s', (_what, window, width, height) => {
    expect(renderFor(window, FULL_HD.launch)).toEqual({ width, height });
  });

  test('is always one that the service accepts', () => {
    const side = fc.integer({ min: 0, max: 20_000 });
    const launchSide = fc.integer({ min: 8, max: 4096 }).map((half) => half * 2);
    fc.assert(
      fc.property(
        side,
        side,
        fc.constantFrom(0.5, 1, 1.25, 3),
        launchSide,
        launchSide,
        (w, h, dpr, lw, lh) => {
          const { width, height } = renderFor(area(w, h, dpr), { width: lw, height: lh });
          for (const [pixels, most] of [
            [width, lw],
            [height, lh],
          ] as const) {
            expect(pixels % 2).toBe(0);
            expect(pixels).toBeGreaterThanOrEqual(16);
            expect(pixels).toBeLessThanOrEqual(most);
          }
        },
      ),
    );
  });
});

describe('the picture size for a window', () => {
  test.each<[string, PictureArea, number]>([
    ['the smallest rung that shows every pixel of the display', area(800, 450), 1280],
    ['a larger one for a larger window', area(1366, 768), 1600],
    ['the launch size where the display fills it', area(3840, 2400), 1920],
    ['the launch size where the display is high and narrow', area(390, 844, 3), 1920],
  ])('%s', (_what, window, width) => {
    expect(streamFor(window, renderFor(window, FULL_HD.launch), FULL_HD).width).toBe(width);
  });
});

describe('the requested change', () => {
  const SMALL = area(800, 450);

  test('display and picture together; nothing if both fit', () => {
    const sizes = { render_width: 800, render_height: 450, stream_width: 1280, stream_height: 720 };
    expect(decideFit(SMALL, FULL_HD, display(), null)).toEqual(sizes);
    expect(
      decideFit(SMALL, FULL_HD, display({ ...sizes, owner: 'pinned' }), { width: 1280, height: 720 }),
    ).toBeNull();
  });

  test('the launch size releases the picture that this page pinned', () => {
    const now = display({ stream_width: 1280, stream_height: 720, owner: 'pinned' });
    expect(decideFit(area(1920, 1080), FULL_HD, now, { width: 1280, height: 720 })).toEqual({
      stream_width: 1920,
      stream_height: 1080,
    });
  });

  test.each<[string, Display]>([
    ['somebody else pinned', display({ stream_width: 1600, stream_height: 900, owner: 'pinned' })],
    ['the rate control made smaller', display({ stream_width: 1600, stream_height: 900 })],
  ])('a picture that %s keeps its size, and the display follows', (_who, now) => {
    expect(decideFit(SMALL, FULL_HD, now, null)).toEqual({ render_width: 800, render_height: 450 });
  });

  test('no other picture size if the session’s picture cannot change', () => {
    expect(decideFit(SMALL, { ...FULL_HD, resizable: false }, display(), null)).toEqual({
      render_width: 800,
      render_height: 450,
    });
  });

  test('after following: the launch size, and the picture only if this page pinned it', () => {
    const now = display({
      render_width: 800,
      render_height: 450,
      stream_width: 1280,
      stream_height: 720,
      owner: 'pinned',
    });
    const whole = { render_width: 1920, render_height: 1080 };
    expect(decideRelease(FULL_HD, now, null)).toEqual(whole);
    expect(decideRelease(FULL_HD, now, { width: 1280, height: 720 })).toEqual({
      ...whole,
      stream_width: 1920,
      stream_height: 1080,
    });
    expect(decideRelease(FULL_HD, display(), null)).toBeNull();
  });
});

describe('the shown size of the picture', () => {
  test.each<[string, { width: number; height: number }, Display | null, number]>([
    ['as large as fits, while nothing is known', { width: 390, height: 844 }, null, 1],
    ['as large as fits, for a display of its shape', { width: 390, height: 844 }, display(), 1],
    [
      'with the bars of a narrow display outside an upright window',
      { width: 500, height: 1080 },
      display({ render_width: 500, render_height: 1080 }),
      1920 / 500,
    ],
    [
      'with the bars of a flat display outside a flat window',
      { width: 1920, height: 540 },
      display({ render_width: 1920, render_height: 540 }),
      2,
    ],
    [
      'with its bars, where the window has its shape and not that of the display',
      { width: 1920, height: 1080 },
      display({ render_width: 500, render_height: 1080 }),
      1,
    ],
  ])('%s', (_what, window, now, scale) => {
    expect(pictureScale(window, now)).toBeCloseTo(scale);
  });

  test('the whole display is always in the window, without distortion', () => {
    const side = fc.integer({ min: 1, max: 5000 });
    const half = fc.integer({ min: 8, max: 960 });
    fc.assert(
      fc.property(side, side, half, half, (width, height, w, h) => {
        const now = display({ render_width: 2 * w, render_height: Math.min(1080, 2 * h) });
        const scale = pictureScale({ width, height }, now) * Math.min(width / 1920, height / 1080);
        const inPicture = Math.min(1920 / now.render_width, 1080 / now.render_height) * scale;
        expect(now.render_width * inPicture).toBeLessThanOrEqual(width + 0.001);
        expect(now.render_height * inPicture).toBeLessThanOrEqual(height + 0.001);
      }),
    );
  });
});
