/**
 * Content of the Diagnostics app as data: rectangles and colours for a given size, frame number and input. Every part
 * has a fixed place, given here in fractions of the picture's height, so a test can read it from a decoded frame:
 *
 *   0.00–0.30  eight colour bars
 *   0.30–0.40  the frame number in binary, sixteen cells, the highest bit left, white is 1
 *   0.40–0.70  stripes that move one step a frame
 *   0.70–1.00  left: key field, right: pointer field; each changes its colour with every press
 */

export const BAR_COLOURS = [
  0xffffff, 0xffff00, 0x00ffff, 0x00ff00, 0xff00ff, 0xff0000, 0x0000ff, 0x000000,
] as const;
export const FIELD_COLOURS = [0x303030, 0x00c000, 0x0060ff, 0xc00000] as const;
const COUNTER_CELLS = 16;
const STRIPE_COUNT = 20;
const STRIPE_COLOURS = [0x204080, 0xe0a030] as const;

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Colour as 0xRRGGBB. */
  readonly colour: number;
}

export interface PatternInput {
  readonly width: number;
  readonly height: number;
  readonly frame: number;
  readonly keyPresses: number;
  readonly buttonPresses: number;
  /** Position of the last press in pixels; null before the first press. */
  readonly lastPress: { readonly x: number; readonly y: number } | null;
}

/** Left edge of cell `index`, when `cells` cells fill `total` pixels without gaps. */
function edge(index: number, cells: number, total: number): number {
  return Math.round((index * total) / cells);
}

function row(
  count: number,
  width: number,
  top: number,
  bottom: number,
  colourOf: (i: number) => number,
): Rectangle[] {
  return Array.from({ length: count }, (_, i) => {
    const x = edge(i, count, width);
    return { x, y: top, width: edge(i + 1, count, width) - x, height: bottom - top, colour: colourOf(i) };
  });
}

/** The colour bars, which never change. */
export function barRectangles(width: number, height: number): Rectangle[] {
  return row(BAR_COLOURS.length, width, 0, Math.round(height * 0.3), (i) => BAR_COLOURS[i] ?? 0);
}

/** Frame number and moving stripes. */
export function movingRectangles({ width, height, frame }: PatternInput): Rectangle[] {
  const top = Math.round(height * 0.3);
  const middle = Math.round(height * 0.4);
  const bottom = Math.round(height * 0.7);
  const counter = row(COUNTER_CELLS, width, top, middle, (i) =>
    (frame >> (COUNTER_CELLS - 1 - i)) & 1 ? 0xffffff : 0x000000,
  );
  const stripe = width / STRIPE_COUNT;
  const offset = ((frame * 8) % (stripe * 2)) - stripe * 2;
  const stripes: Rectangle[] = [
    { x: 0, y: middle, width, height: bottom - middle, colour: STRIPE_COLOURS[0] },
  ];
  for (let x = offset; x < width; x += stripe * 2) {
    const left = Math.max(0, Math.round(x));
    const right = Math.min(width, Math.round(x + stripe));
    if (right > left) {
      stripes.push({
        x: left,
        y: middle,
        width: right - left,
        height: bottom - middle,
        colour: STRIPE_COLOURS[1],
      });
    }
  }
  return [...counter, ...stripes];
}

/** The two fields that react to input. */
export function fieldRectangles({
  width,
  height,
  keyPresses,
  buttonPresses,
  lastPress,
}: PatternInput): Rectangle[] {
  const top = Math.round(height * 0.7);
  const half = Math.round(width / 2);
  const fields: Rectangle[] = [
    {
      x: 0,
      y: top,
      width: half,
      height: height - top,
      colour: FIELD_COLOURS[keyPresses % FIELD_COLOURS.length] ?? 0,
    },
    {
      x: half,
      y: top,
      width: width - half,
      height: height - top,
      colour: FIELD_COLOURS[buttonPresses % FIELD_COLOURS.length] ?? 0,
    },
  ];
  if (lastPress !== null) {
    const size = Math.max(4, Math.round(height / 60));
    fields.push({
      x: Math.max(0, lastPress.x - size),
      y: Math.max(0, lastPress.y - 1),
      width: size * 2,
      height: 2,
      colour: 0xffffff,
    });
    fields.push({
      x: Math.max(0, lastPress.x - 1),
      y: Math.max(0, lastPress.y - size),
      width: 2,
      height: size * 2,
      colour: 0xffffff,
    });
  }
  return fields;
}

/** Colours of the rectangles in the full motion. All rectangles of one colour are drawn with one request. */
export const MOTION_COLOURS = [
  0x203040, 0xd04030, 0x30a050, 0x3060d0, 0xe0c040, 0x9040a0, 0xf0f0e8, 0x50b0b0,
] as const;
/**
 * Encoded size of one new rectangle at medium quality, in bytes. At its lowest quality, openh264 needed 36 bytes in
 * tests from 720p30 to 1080p60. With too many rectangles, the encoder would exceed its bitrate.
 */
const DETAIL_BYTES = 70;
/** Side of a new rectangle in pixels: the minimum, and the largest random addition. */
const MOTION_SIDE = [4, 28] as const;
/** Horizontal and vertical shift of the whole picture per frame, in pixels. */
const MOTION_STEP = [3, 2] as const;

/** One frame of a picture in which everything moves and new rectangles appear everywhere. */
export interface FullMotion {
  /** Shift of the previous picture, in pixels. */
  readonly dx: number;
  readonly dy: number;
  /** New rectangles for each of MOTION_COLOURS, as a flat list of x, y, width and height. */
  readonly rectangles: readonly (readonly number[])[];
}

/** Number of new rectangles per frame for which an encoder needs about this bitrate (kbit/s) at medium quality. */
export const detailsOf = (bitrateKbps: number, fps: number): number =>
  Math.max(1, Math.round((bitrateKbps * 125) / fps / DETAIL_BYTES));

/** Computes the change from the previous frame. The same frame number always gives the same change. */
export function fullMotion(
  { width, height, frame }: Pick<PatternInput, 'width' | 'height' | 'frame'>,
  details: number,
): FullMotion {
  // A linear congruential generator (Numerical Recipes), because its noise is the same in each test run.
  let state = (frame * 2_654_435_761 + 1) >>> 0;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const rectangles: number[][] = MOTION_COLOURS.map(() => []);
  for (let i = 0; i < details; i++) {
    const [least, further] = MOTION_SIDE;
    const w = Math.min(width, least + below(further));
    const h = Math.min(height, least + below(further));
    rectangles[i % MOTION_COLOURS.length]?.push(below(width - w + 1), below(height - h + 1), w, h);
  }
  // The direction alternates every 60 frames, so the content is not shifted out of the picture.
  const isForth = Math.floor(frame / 60) % 2 === 0;
  const [dx, dy] = MOTION_STEP;
  return isForth ? { dx, dy, rectangles } : { dx: -dx, dy: -dy, rectangles };
}
