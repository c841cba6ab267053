/**
 * Computes display and picture sizes for a window, and how to show a picture of another shape. Pure. Rules:
 * docs/sessions.md, "The page follows its window".
 */
import type { Display } from '@footlight/protocol/input';
import type { SentBody } from '@footlight/protocol/rest';

export interface Size {
  width: number;
  height: number;
}

/** The picture's area: CSS pixels, and device pixels per CSS pixel. */
export interface PictureArea extends Size {
  dpr: number;
}

/** Limits of a session: the launch size is the largest display, and the rungs are the possible sizes of the picture. */
export interface FitBounds {
  launch: Size;
  rungs: readonly (readonly [number, number])[];
  /** false: this picture cannot change its size while it runs */
  resizable: boolean;
}

export type DisplayChange = SentBody<'sessions.display'>;

/** Smallest display size that a host accepts. */
const MIN_RENDER_PX = 16;
/** Smallest usable side. In a smaller window, the picture of this size is scaled down. */
const LEAST_SIDE_PX = 240;
/** From this share of the launch size on, the display uses the full launch size, because nobody sees the difference. */
const NEARLY_WHOLE = 0.99;
/** From this share of the needed size on, a picture looks sharp. */
const SHARP_ENOUGH = 0.99;

/**
 * The display size with the window's shape: one pixel per screen pixel if the launch size allows this, otherwise the
 * largest possible size.
 * @returns even sides within the launch size
 */
export function renderFor(area: PictureArea, launch: Size): Size {
  const pixels = pixelsOf(area);
  const least = Math.max(1, LEAST_SIDE_PX / Math.min(pixels.width, pixels.height));
  const scale = Math.min(least, scaleInto(pixels, launch));
  const width = evenWithin(pixels.width * scale, launch.width);
  const height = evenWithin(pixels.height * scale, launch.height);
  const whole = width >= launch.width * NEARLY_WHOLE && height >= launch.height * NEARLY_WHOLE;
  return whole ? { ...launch } : { width, height };
}

/** The smallest picture size that shows the display without visible loss of sharpness. */
export function streamFor(area: PictureArea, render: Size, { launch, rungs }: FitBounds): Size {
  const shown = scaleInto(render, pixelsOf(area)) * SHARP_ENOUGH;
  return rungs
    .map(([width, height]) => ({ width, height }))
    .filter((rung) => scaleInto(render, rung) >= shown)
    .reduce((least, rung) => (rung.width < least.width ? rung : least), launch);
}

/**
 * The request that fits the session to the window.
 *
 * A picture size that another page pinned or that rate control reduced stays unchanged.
 * @param display current sizes
 * @param pinned the picture size of this page's last request; null: no request
 * @returns null when nothing must change
 */
export function decideFit(
  area: PictureArea,
  bounds: FitBounds,
  display: Display,
  pinned: Size | null,
): DisplayChange | null {
  const render = renderFor(area, bounds.launch);
  const stream = streamFor(area, render, bounds);
  const picture = streamOf(display);
  const isOwn =
    display.owner === 'pinned' ? pinned !== null && isSame(picture, pinned) : isSame(picture, bounds.launch);
  return change(display, render, bounds.resizable && isOwn ? stream : null);
}

/** The request when the session no longer follows the window: the launch size, which is not pinned. */
export function decideRelease(
  bounds: FitBounds,
  display: Display,
  pinned: Size | null,
): DisplayChange | null {
  const isOwn = display.owner === 'pinned' && pinned !== null && isSame(streamOf(display), pinned);
  return change(display, bounds.launch, bounds.resizable && isOwn ? bounds.launch : null);
}

/**
 * Scale, at least 1, at which the display's content fills the window. A display with another shape than the picture has
 * black bars, and with this scale the bars are outside the window.
 */
export function pictureScale(window: Size, display: Display | null): number {
  if (display === null || window.width <= 0 || window.height <= 0) return 1;
  const picture = streamOf(display);
  const render = { width: display.render_width, height: display.render_height };
  const inPicture = scaleInto(render, picture);
  const shown = { width: render.width * inPicture, height: render.height * inPicture };
  const scale = scaleInto(shown, window) / scaleInto(picture, window);
  // Ignores differences by rounding, because a scaled picture is blurred.
  return scale > 1 / NEARLY_WHOLE ? scale : 1;
}

function change(display: Display, render: Size, stream: Size | null): DisplayChange | null {
  const changesRender = render.width !== display.render_width || render.height !== display.render_height;
  const changesStream = stream !== null && !isSame(stream, streamOf(display));
  if (!changesRender && !changesStream) return null;
  return {
    ...(changesRender && { render_width: render.width, render_height: render.height }),
    ...(changesStream && { stream_width: stream.width, stream_height: stream.height }),
  };
}

function pixelsOf({ width, height, dpr }: PictureArea): Size {
  return { width: Math.max(1, width * dpr), height: Math.max(1, height * dpr) };
}

/** Scale at which one size fits into another. */
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
