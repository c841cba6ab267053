import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideDisplay, displayOf, displayRecord, judgeDisplayChange, pictureAfter } from './display.ts';

const LAUNCH = { stream_width: 1920, stream_height: 1080 };

describe('the values of a display change', () => {
  test.each([
    ['both render dimensions', { render_width: 1280, render_height: 720 }],
    ['the smallest display', { render_width: 16, render_height: 16 }],
    ['the launch size', { render_width: 1920, render_height: 1080 }],
    ['a stream size of the rungs', { stream_width: 1280, stream_height: 720 }],
    ['a scale alone', { ui_scale: 1 }],
    ['the largest scale', { ui_scale: 3 }],
  ])('%s: taken', (_what, change) => {
    expect(decideDisplay(LAUNCH, change)).toBeNull();
  });

  test.each([
    ['nothing at all', {}, 'nothing'],
    ['a render width alone', { render_width: 1280 }, 'belong together'],
    ['a render height alone', { render_height: 720 }, 'belong together'],
    ['a stream width alone', { stream_width: 1280 }, 'belong together'],
    ['an odd width', { render_width: 1281, render_height: 720 }, 'render_width'],
    ['less than 16', { render_width: 16, render_height: 14 }, 'render_height'],
    ['more than at launch', { render_width: 1922, render_height: 1080 }, 'render_width'],
    ['higher than at launch', { render_width: 1920, render_height: 1082 }, 'render_height'],
    ['a stream size that is no rung', { stream_width: 1280, stream_height: 800 }, '1920×1080'],
    ['a scale below 1', { ui_scale: 0.99 }, 'ui_scale'],
    ['a scale above 3', { ui_scale: 3.01 }, 'ui_scale'],
  ])('%s: refused', (_what, change, words) => {
    expect(decideDisplay(LAUNCH, change)).toContain(words);
  });

  test('every accepted size is even and within the launch size', () => {
    const number = fc.option(fc.oneof(fc.integer(), fc.double()), { nil: undefined });
    fc.assert(
      fc.property(number, number, (render_width, render_height) => {
        const change = { ui_scale: 1, render_width, render_height };
        if (decideDisplay(LAUNCH, change) !== null || render_width === undefined) return;
        expect([render_width % 2, (render_height ?? 1) % 2]).toEqual([0, 0]);
        expect(render_width <= 1920 && (render_height ?? 0) <= 1080).toBe(true);
      }),
    );
  });
});

describe('a display change is sent to the host', () => {
  const running = { ...LAUNCH, state: 'running', host_id: 'host' } as const;
  const quiet = { display: undefined, pending: 0 };
  const smaller = { stream_width: 1280, stream_height: 720 };

  test('of a running session with valid sizes', () => {
    expect(judgeDisplayChange(running, smaller, quiet)).toBeNull();
    expect(judgeDisplayChange(running, smaller, { ...quiet, pending: 7 })).toBeNull();
  });

  test.each([
    ['before it runs', { ...running, state: 'starting' }, smaller, quiet, 'session_not_running'],
    ['after its end', { ...running, state: 'stopped' }, smaller, quiet, 'session_not_running'],
    ['without a host', { ...running, host_id: null }, smaller, quiet, 'session_not_running'],
    [
      'the picture of a host that cannot scale it',
      running,
      smaller,
      { ...quiet, display: { external_resize_supported: false } },
      'external_resize_unsupported',
    ],
    ['an invalid size', running, { stream_width: 3 }, quiet, 'validation_failed'],
    ['the ninth pending one', running, smaller, { ...quiet, pending: 8 }, 'rate_limited'],
    ['an invalid size before the limit', running, {}, { ...quiet, pending: 8 }, 'validation_failed'],
  ] as const)('%s: refused', (_what, session, change, now, code) => {
    expect(judgeDisplayChange(session, change, now)).toMatchObject({ code });
  });

  test('the display alone, although the host cannot scale the picture', () => {
    const display = { external_resize_supported: false };
    expect(judgeDisplayChange(running, { ui_scale: 2 }, { ...quiet, display })).toBeNull();
  });
});

describe('the owner of the picture', () => {
  test.each([
    [{ stream_width: 1280, stream_height: 720 }, 'pinned'],
    [{ stream_width: 1920, stream_height: 1080 }, 'auto'],
  ] as const)('%j: %s', (change, owner) => {
    expect(pictureAfter(LAUNCH, change)).toMatchObject({ owner });
  });
});

describe('what the agent reports of it', () => {
  test('nothing reported: nothing shown', () => {
    expect(displayRecord(LAUNCH, undefined)).toEqual({});
    expect(displayRecord(LAUNCH, displayOf({}))).toEqual({});
  });

  test('a size that is left out is the launch size', () => {
    expect(
      displayRecord(LAUNCH, displayOf({ external_owner: 'auto', external_resize_supported: false })),
    ).toEqual({
      external_width: 1920,
      external_height: 1080,
      external_owner: 'auto',
      external_resize_supported: false,
    });
  });

  test('a pinned size', () => {
    const metrics = { external_owner: 'pinned', stream_width: 1280, stream_height: 720 };
    expect(displayRecord(LAUNCH, displayOf(metrics))).toEqual({
      external_width: 1280,
      external_height: 720,
      external_owner: 'pinned',
    });
  });

  test('other kinds of values are left out', () => {
    const metrics = { external_owner: 'mine', external_resize_supported: 1, stream_width: 'wide' };
    expect(displayRecord(LAUNCH, displayOf(metrics))).toEqual({});
  });
});
