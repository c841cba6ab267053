/**
 * Which sizes of display and picture suit the window that shows them, and how a picture of another shape is shown. Pure.
 * The rules in words: docs/session-changes.md, "The page follows its window".
 */
import type { Display } from '@footlight/protocol/input';
import type { SentBody } from '@footlight/protocol/rest';

export interface Size {
  width: number;
  height: number;
}

/** Where the picture is shown: CSS pixels, and how many pixels of the screen make one of them. */
export interface Stage extends Size {
  dpr: number;
}

/** What a session can take: its launch size bounds the display, its rungs are the sizes of the picture. */
export interface FitBounds {
  launch: Size;
  rungs: readonly (readonly [number, number])[];
  /** false: this picture cannot change its size while it runs */
  resizable: boolean;
}

export type DisplayChange = SentBody<'sessions.display'>;

/** The least that a host takes. */
const MIN_RENDER_PX = 16;
/** No app can be used on less; a smaller window shows this much, made smaller. */
const LEAST_SIDE_PX = 240;
/** A display that lacks no more than this of its launch size takes all of it: nobody sees the difference. */
const NEARLY_WHOLE = 0.99;
/** A picture that is this little too small looks as sharp. */
const SHARP_ENOUGH = 0.99;

/**
 * The display that has the window's shape: pixel for pixel where the launch size allows that, else as large as it does.
 * @returns even sides within the launch size
 */
export function renderFor(stage: Stage, launch: Size): Size {
  const pixels = pixelsOf(stage);
  const least = Math.max(1, LEAST_SIDE_PX / Math.min(pixels.width, pixels.height));
  const scale = Math.min(least, scaleInto(pixels, launch));
  const width = evenWithin(pixels.width * scale, launch.width);
  const height = evenWithin(pixels.height * scale, launch.height);
  const whole = width >= launch.width * NEARLY_WHOLE && height >= launch.height * NEARLY_WHOLE;
  return whole ? { ...launch } : { width, height };
}

/** The smallest picture that shows the display in the window without losing sharpness. */
export function streamFor(stage: Stage, render: Size, { launch, rungs }: FitBounds): Size {
  const shown = scaleInto(render, pixelsOf(stage)) * SHARP_ENOUGH;
  return rungs
    .map(([width, height]) => ({ width, height }))
    .filter((rung) => scaleInto(render, rung) >= shown)
    .reduce((least, rung) => (rung.width < least.width ? rung : least), launch);
}

/**
 * What to ask for so that the session suits the window.
 *
 * A picture that somebody else pinned keeps its size, and so does one that the rate control has made smaller: the path
 * carries no more.
 * @param display how things stand
 * @param pinned size of the picture that this page asked for last; null: none
 * @returns null when everything is as it should be
 */
export function decideFit(
  stage: Stage,
  bounds: FitBounds,
  display: Display,
  pinned: Size | null,
): DisplayChange | null {
  const render = renderFor(stage, bounds.launch);
  const stream = streamFor(stage, render, bounds);
  const picture = streamOf(display);
  const mine =
    display.owner === 'pinned' ? pinned !== null && isSame(picture, pinned) : isSame(picture, bounds.launch);
  return change(display, render, bounds.resizable && mine ? stream : null);
}

/** What to ask for when the session no longer follows the window: the launch size, and a picture of nobody's. */
export function decideRelease(
  bounds: FitBounds,
  display: Display,
  pinned: Size | null,
): DisplayChange | null {
  const mine = display.owner === 'pinned' && pinned !== null && isSame(streamOf(display), pinned);
  return change(display, bounds.launch, bounds.resizable && mine ? bounds.launch : null);
}

/**
 * A display of another shape than the picture comes with bars in it. How much larger than fitted the picture is to be
 * shown, so that the display fills the window and the bars lie outside of it; never smaller than 1.
 */
export function pictureScale(window: Size, display: Display | null): number {
  if (display === null || window.width <= 0 || window.height <= 0) return 1;
  const picture = streamOf(display);
  const render = { width: display.render_width, height: display.render_height };
  const inPicture = scaleInto(render, picture);
  const shown = { width: render.width * inPicture, height: render.height * inPicture };
  const scale = scaleInto(shown, window) / scaleInto(picture, window);
  // What rounding makes of equal shapes is not worth a blurred picture.
  return scale > 1 / NEARLY_WHOLE ? scale : 1;
}

function change(display: Display, render: Size, stream: Size | null): DisplayChange | null {
  const asksRender = render.width !== display.render_width || render.height !== display.render_height;
  const asksStream = stream !== null && !isSame(stream, streamOf(display));
  if (!asksRender && !asksStream) return null;
  return {
    ...(asksRender && { render_width: render.width, render_height: render.height }),
    ...(asksStream && { stream_width: stream.width, stream_height: stream.height }),
  };
}

function pixelsOf({ width, height, dpr }: Stage): Size {
  return { width: Math.max(1, width * dpr), height: Math.max(1, height * dpr) };
}

/** How often one size goes into another without being cut. */
function scaleInto(inner: Size, outer: Size): number {
  return Math.min(outer.width / inner.width, outer.height / inner.height);
}

function evenWithin(pixels: number, most: number): number {
  const even = 2 * Math.round(pixels / 2);
  return Math.max(MIN_RENDER_PX, Math.min(even, 2 * Math.floor(most / 2)));
}

function streamOf({ stream_width, stream_height }: Display): Size {
  return { width: stream_width, height: stream_height };
}

function isSame(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}
