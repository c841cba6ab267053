/**
 * The Diagnostics app: a known moving picture, a 440 Hz tone, and two fields that react to keys and clicks at once. It
 * is an ordinary X11 client and needs only DISPLAY. FOOTLIGHT_DIAGNOSTICS_FPS sets the frame rate (1–240, default 60).
 * With FOOTLIGHT_DIAGNOSTICS_MOTION=full, it shows a picture that changes everywhere, without sound; measurements use
 * this picture as load (docs/quality.md). The picture has as much detail as an encoder can send at about
 * FOOTLIGHT_DIAGNOSTICS_KBPS (default 6000).
 */
import x11 from 'x11';
import {
  barRectangles,
  detailsOf,
  fieldRectangles,
  fullMotion,
  MOTION_COLOURS,
  movingRectangles,
  type PatternInput,
  type Rectangle,
} from './pattern.ts';
import { playTone } from './tone.ts';

const EVENT_MASK =
  x11.eventMask.KeyPress | x11.eventMask.ButtonPress | x11.eventMask.StructureNotify | x11.eventMask.Exposure;
const KEY_PRESS = 2;
const BUTTON_PRESS = 4;
const EXPOSE = 12;
const CONFIGURE_NOTIFY = 22;

function framesPerSecond(value: string | undefined): number {
  const fps = Number(value ?? 60);
  return Number.isFinite(fps) && fps >= 1 && fps <= 240 ? fps : 60;
}

function kbitPerSecond(value: string | undefined): number {
  const kbps = Number(value ?? 6000);
  return Number.isFinite(kbps) && kbps >= 1 && kbps <= 500_000 ? kbps : 6000;
}

const fps = framesPerSecond(process.env.FOOTLIGHT_DIAGNOSTICS_FPS);

x11.createClient((error, display) => {
  if (error) {
    process.stderr.write(`No display: ${String(error)}\n`);
    process.exit(1);
  }
  const X = display.client;
  const screen = display.screen[0];
  if (screen === undefined) {
    process.stderr.write('The display has no screen.\n');
    process.exit(1);
  }
  let width = screen.pixel_width;
  let height = screen.pixel_height;

  const window = X.AllocID();
  X.CreateWindow(window, screen.root, 0, 0, width, height, 0, 0, 0, 0, {
    backgroundPixel: 0,
    eventMask: EVENT_MASK,
  });
  X.ChangeProperty(0, window, X.atoms.WM_NAME, X.atoms.STRING, 8, 'Diagnostics');
  const graphics = X.AllocID();
  X.CreateGC(graphics, window, { foreground: 0, graphicsExposures: 0 });
  let canvas = X.AllocID();
  X.CreatePixmap(canvas, window, screen.root_depth, width, height);
  X.MapWindow(window);

  const input = { keyPresses: 0, buttonPresses: 0, lastPress: null as PatternInput['lastPress'] };
  let frame = 0;

  const fill = (rectangles: Rectangle[]) => {
    for (const r of rectangles) {
      X.ChangeGC(graphics, { foreground: r.colour });
      X.PolyFillRectangle(canvas, graphics, [r.x, r.y, r.width, r.height]);
    }
  };
  const show = (top: number, bottom: number) =>
    X.CopyArea(canvas, window, graphics, 0, top, 0, top, width, bottom - top);
  const pattern = (): PatternInput => ({ width, height, frame, ...input });

  const drawAll = () => {
    fill([...barRectangles(width, height), ...movingRectangles(pattern()), ...fieldRectangles(pattern())]);
    show(0, height);
  };
  // Input changes the picture at once, instead of with the next frame, because tests measure the time from input to
  // picture.
  const drawFields = () => {
    fill(fieldRectangles(pattern()));
    show(Math.round(height * 0.7), height);
  };
  const drawFullMotion = () => {
    const { dx, dy, rectangles } = fullMotion({ width, height, frame }, details);
    X.CopyArea(canvas, canvas, graphics, 0, 0, dx, dy, width, height);
    for (const [i, foreground] of MOTION_COLOURS.entries()) {
      X.ChangeGC(graphics, { foreground });
      X.PolyFillRectangle(canvas, graphics, [...(rectangles[i] ?? [])]);
    }
    show(0, height);
  };
  const details = detailsOf(kbitPerSecond(process.env.FOOTLIGHT_DIAGNOSTICS_KBPS), fps);
  const isFullMotion = process.env.FOOTLIGHT_DIAGNOSTICS_MOTION === 'full';
  const drawFrame = () => {
    frame = (frame + 1) & 0xffff;
    if (isFullMotion) {
      drawFullMotion();
      return;
    }
    fill(movingRectangles(pattern()));
    show(Math.round(height * 0.3), Math.round(height * 0.7));
  };

  X.on('event', (event) => {
    if (event.type === KEY_PRESS) {
      input.keyPresses++;
      drawFields();
    } else if (event.type === BUTTON_PRESS) {
      // Buttons 4 to 7 are the wheel.
      if (event.keycode <= 3) {
        input.buttonPresses++;
        input.lastPress = { x: event.x, y: event.y };
        drawFields();
      }
    } else if (event.type === EXPOSE) {
      // The X server discards everything that was drawn before the window is visible. The canvas keeps its content, so
      // it is copied to the window here.
      show(0, height);
    } else if (event.type === CONFIGURE_NOTIFY && (event.width !== width || event.height !== height)) {
      width = event.width;
      height = event.height;
      X.FreePixmap(canvas);
      canvas = X.AllocID();
      X.CreatePixmap(canvas, window, screen.root_depth, width, height);
      drawAll();
    }
  });
  X.on('error', (problem) => process.stderr.write(`X error: ${String(problem)}\n`));
  X.on('end', () => process.exit(0));

  drawAll();
  const frameMs = 1000 / fps;
  let due = performance.now();
  const tick = () => {
    drawFrame();
    due = Math.max(due + frameMs, performance.now());
    setTimeout(tick, Math.max(0, due - performance.now()));
  };
  tick();

  const silence = isFullMotion ? () => undefined : playTone();
  process.once('SIGTERM', () => {
    silence();
    process.exit(0);
  });
});
