import { describe, expect, test } from 'vitest';
import { SessionDisplay } from './session-display.ts';

const LAUNCH = { width: 1280, height: 720 };

function world(fails: { screen?: boolean; scale?: boolean } = {}, canResize = true) {
  const done: string[] = [];
  let screen = LAUNCH;
  /** Functions by step, such as "scale 2"; each is called while its step is being executed. */
  const during: Record<string, () => void> = {};
  const does = (step: string) => {
    done.push(step);
    during[step]?.();
  };
  const display: SessionDisplay = new SessionDisplay(LAUNCH, {
    resizeScreen: async ({ width, height }) => {
      does(`screen ${width}×${height}`);
      if (fails.screen && width !== LAUNCH.width) throw new Error('no');
      screen = { width, height };
    },
    screenSize: async () => screen,
    setScale: async (scale) => {
      does(`scale ${scale}`);
      if (fails.scale && scale !== 1) throw new Error('no');
    },
    resizePicture: canResize ? () => void done.push(`picture ${display.picture?.width}`) : null,
  });
  let request = 0;
  const change = (more: Omit<Parameters<SessionDisplay['apply']>[0], 'type' | 'request'>) =>
    display.apply({ type: 'display', request: ++request, ...more });
  return { display, done, during, change };
}
const HALF = { width: 640, height: 360 };

describe('a change of sizes', () => {
  test('is applied, and viewers and metrics get the new sizes', async () => {
    const { display, done, change } = world();
    await change({ render: HALF, ui_scale: 2, stream: HALF });
    expect(done).toEqual(['screen 640×360', 'scale 2', 'picture 640']);
    expect(display.message(HALF)).toEqual({
      type: 'display',
      render_width: 640,
      render_height: 360,
      ui_scale: 2,
      stream_width: 640,
      stream_height: 360,
      owner: 'pinned',
    });
    expect(display.metrics()).toEqual({
      external_owner: 'pinned',
      external_resize_supported: true,
      render_width: 640,
      render_height: 360,
      ui_scale: 2,
      stream_width: 640,
      stream_height: 360,
    });
  });

  test('the launch size releases the picture', async () => {
    const { display, change } = world();
    await change({ stream: HALF });
    expect(display.picture).toEqual(HALF);
    await change({ stream: LAUNCH });
    expect(display.picture).toBeNull();
    expect(display.metrics()).toEqual({ external_owner: 'auto', external_resize_supported: true });
  });

  test('a display size alone pins nothing', async () => {
    const { display, change } = world();
    await change({ render: HALF });
    expect(display.message(LAUNCH)).toMatchObject({ owner: 'auto', render_width: 640, stream_width: 1280 });
  });

  test.each([
    ['the screen', { screen: true }],
    ['the scale', { scale: true }],
  ])('if %s fails, everything is restored', async (_what, fails) => {
    const { display, done, change } = world(fails);
    await expect(change({ render: HALF, ui_scale: 2, stream: HALF })).rejects.toThrow('no');
    expect(done.slice(-2)).toEqual(['screen 1280×720', 'scale 1']);
    expect(display.metrics()).toEqual({ external_owner: 'auto', external_resize_supported: true });
  });

  test('is refused before any effect if the encoder cannot resize', async () => {
    const { display, done, change } = world({}, false);
    await expect(change({ render: HALF, stream: HALF })).rejects.toThrow('encoder');
    expect(done).toEqual([]);
    expect(display.metrics()).toMatchObject({ external_resize_supported: false });
  });
});

describe('the display takes the size of a window', () => {
  const WINDOW = { width: 800, height: 600 };

  test('and so does the picture; viewers and metrics get the sizes, marked as not requested', async () => {
    const { display, done } = world();
    await display.fitTo(WINDOW);
    expect(done).toEqual(['screen 800×600', 'picture 800']);
    expect(display.picture).toEqual(WINDOW);
    expect(display.message(WINDOW)).toMatchObject({ render_width: 800, stream_height: 600, owner: 'auto' });
    expect(display.metrics()).toEqual({
      external_owner: 'auto',
      external_resize_supported: true,
      render_width: 800,
      render_height: 600,
      stream_width: 800,
      stream_height: 600,
    });
    await display.fitTo(null);
    expect(done.slice(2)).toEqual(['screen 1280×720', 'picture undefined']);
    expect(display.metrics()).toEqual({ external_owner: 'auto', external_resize_supported: true });
  });

  test.each([WINDOW, { width: 642, height: 482 }, { width: 160, height: 720 }])(
    'a pointer at each of its pixels lands there: $width×$height',
    async (size) => {
      const { display } = world();
      await display.fitTo(size);
      for (let x = 0; x < size.width; x++) {
        const onWire = Math.round((x / (size.width - 1)) * 65_535);
        const pixel = Math.round((onWire * (LAUNCH.width - 1)) / 65_535);
        expect(display.toDisplay(pixel, 0).x).toBe(x);
      }
      expect(display.toDisplay(1279, 719)).toEqual({ x: size.width - 1, y: size.height - 1 });
    },
  );

  test('a requested picture size is kept, with bars', async () => {
    const { display, change } = world();
    await change({ stream: HALF });
    await display.fitTo(WINDOW);
    expect(display.picture).toEqual(HALF);
    expect(display.message(HALF).owner).toBe('pinned');
    expect(display.toDisplay(0, 0)).toEqual({ x: 0, y: 0 });
    expect(display.toDisplay(160, 360).x).toBe(0);
  });

  test('an encoder that cannot change its size shows it with bars', async () => {
    const { display, done } = world({}, false);
    await display.fitTo(WINDOW);
    expect(done).toEqual(['screen 800×600']);
    expect(display.picture).toBeNull();
    expect(display.toDisplay(160, 0)).toEqual({ x: 0, y: 0 });
  });

  test('meanwhile another display size is refused; afterwards the earlier size is restored', async () => {
    const { display, done, change } = world();
    await change({ render: HALF });
    await display.fitTo({ width: 320, height: 240 });
    await expect(change({ render: LAUNCH })).rejects.toThrow('window');
    expect(display.render).toEqual({ width: 320, height: 240 });
    await display.fitTo(null);
    expect(done.filter((step) => step.startsWith('screen')).at(-1)).toBe('screen 640×360');
  });

  test('undoing an earlier change waits for its end', async () => {
    const { display, done, change } = world();
    await change({ render: HALF });
    await display.fitTo({ width: 320, height: 240 });
    expect(await display.undo(1)).toBe(true);
    expect(display.render).toEqual({ width: 320, height: 240 });
    await display.fitTo(null);
    expect(done.filter((step) => step.startsWith('screen')).at(-1)).toBe('screen 1280×720');
  });

  test('if the screen refuses it, the display gets its own size', async () => {
    const { display } = world({ screen: true });
    await expect(display.fitTo(WINDOW)).rejects.toThrow('no');
    expect(display.metrics()).toEqual({ external_owner: 'auto', external_resize_supported: true });
  });
});

describe('a change that is withdrawn', () => {
  const ALL = { render: HALF, ui_scale: 2, stream: HALF };
  const AS_LAUNCHED = { external_owner: 'auto', external_resize_supported: true };

  test('before its start is not started, and the next change is made', async () => {
    const { display, done, change } = world();
    display.withdraw(1);
    await expect(change(ALL)).rejects.toThrow('withdrawn');
    expect(done).toEqual([]);
    await change({ ui_scale: 2 });
    expect(display.metrics()).toEqual({ ...AS_LAUNCHED, ui_scale: 2 });
  });

  test.each([
    ['the screen changes', 'screen 640×360', []],
    ['the scale changes', 'scale 2', ['scale 2']],
  ])('while %s is undone, and the picture is not changed', async (_what, step, further) => {
    const { display, done, during, change } = world();
    during[step] = () => display.withdraw(1);
    await expect(change(ALL)).rejects.toThrow('withdrawn');
    expect(done).toEqual(['screen 640×360', ...further, 'screen 1280×720', 'scale 1']);
    expect(display.metrics()).toEqual(AS_LAUNCHED);
    expect(await display.undo(1)).toBe(false);
  });

  test('after it was made is undone, and the earlier sizes return', async () => {
    const { display, done, change } = world();
    const former = { render: { width: 960, height: 540 }, ui_scale: 1.5, stream: HALF };
    await change(former);
    await change({ render: HALF, ui_scale: 2, stream: LAUNCH });
    display.withdraw(2);
    expect(await display.undo(2)).toBe(true);
    expect(done.slice(-3)).toEqual(['screen 960×540', 'scale 1.5', 'picture 640']);
    expect(display.message(HALF)).toMatchObject({ render_width: 960, ui_scale: 1.5, owner: 'pinned' });
    expect(await display.undo(2)).toBe(false);
  });

  test('does not affect other sizes and earlier changes', async () => {
    const { display, done, change } = world();
    await change({ ui_scale: 2 });
    await change({ stream: HALF });
    display.withdraw(2);
    await display.undo(2);
    expect(done).toEqual(['scale 2', 'picture 640', 'picture undefined']);
    expect(await display.undo(1)).toBe(false);
    expect(display.metrics()).toEqual({ ...AS_LAUNCHED, ui_scale: 2 });
  });

  test('and cannot be undone is reported with the actual sizes', async () => {
    const { display, during, change } = world();
    during['screen 1280×720'] = () => {
      throw new Error('no');
    };
    await change({ render: HALF });
    await display.undo(1);
    expect(display.message(LAUNCH)).toMatchObject({ render_width: 640, render_height: 360 });
  });
});

describe('mapping a point of the picture to the display', () => {
  test.each([
    ['the launch size', LAUNCH, [0, 0], [0, 0]],
    ['the launch size', LAUNCH, [1279, 719], [1279, 719]],
    ['half of it', HALF, [1279, 719], [639, 359]],
    ['half of it', HALF, [640, 360], [320, 180]],
    // The display fills 960 of 1280 pixels of the picture's width, with a bar of 160 pixels on each side.
    ['4:3, left bar', { width: 640, height: 480 }, [10, 0], [0, 0]],
    ['4:3, middle', { width: 640, height: 480 }, [640, 360], [320, 240]],
    ['4:3, right bar', { width: 640, height: 480 }, [1270, 719], [639, 479]],
    ['4:3, a quarter', { width: 640, height: 480 }, [160 + 240, 180], [160, 120]],
    ['tall', { width: 360, height: 720 }, [460, 100], [0, 100]],
  ] as const)('%s', async (_what, render, [x, y], [toX, toY]) => {
    const { display, change } = world();
    await change({ render });
    const at = display.toDisplay(x, y);
    expect(Math.abs(at.x - toX)).toBeLessThanOrEqual(1);
    expect(Math.abs(at.y - toY)).toBeLessThanOrEqual(1);
  });
});

test('on a display with a different size, the pointer is mapped to the display’s pixels', () => {
  const { display } = world();
  display.found({ width: 2560, height: 1440 });
  expect(display.message(LAUNCH)).toMatchObject({ render_width: 2560, stream_width: 1280 });
  expect(display.toDisplay(1279, 719)).toEqual({ x: 2559, y: 1439 });
});
