/** Computes how the picture is enlarged and moved. Pure. */
import { distance, middleOf, type Pair, type Point } from './gestures.ts';

/** scale 1: the whole picture. x and y: distance of its middle from the area's middle, CSS pixels. */
export interface Zoom extends Point {
  scale: number;
}

interface Size {
  width: number;
  height: number;
}

/** Middle of the area on the page, its size, and the size at which the whole picture is shown. */
export interface ZoomArea {
  middle: Point;
  area: Size;
  picture: Size;
}

export const WHOLE: Zoom = { scale: 1, x: 0, y: 0 };
/**
 * Largest scale. At this scale a pixel of a 1080-line picture is as wide as the imprecision of a finger. Chosen, not
 * measured.
 */
const MAX_SCALE = 6;
/** Below this scale the whole picture is shown, because a slightly enlarged picture is only blurred. */
const NEARLY_WHOLE = 1.03;
/** Smallest distance of the pointer from the area's edge, CSS pixels. */
const EDGE_PX = 32;

/** The zoom after the two fingers on the picture have moved. The picture must still cover the area. */
export function pinched(zoom: Zoom, from: Pair, to: Pair, area: ZoomArea): Zoom {
  const [before, after] = [middleOf(from), middleOf(to)];
  const spread = Math.max(1, distance(...from));
  const scale = Math.min(MAX_SCALE, Math.max(1, (zoom.scale * Math.max(1, distance(...to))) / spread));
  const along = (axis: 'x' | 'y') =>
    after[axis] - area.middle[axis] - (scale / zoom.scale) * (before[axis] - area.middle[axis] - zoom[axis]);
  return within({ scale, x: along('x'), y: along('y') }, area);
}

/** Limits a zoom to an area whose size may have changed. */
export function within({ scale, x, y }: Zoom, { area, picture }: ZoomArea): Zoom {
  if (scale <= 1) return WHOLE;
  const bound = (value: number, shown: number, room: number) => {
    const most = Math.max(0, (shown * scale - room) / 2);
    return Math.min(most, Math.max(-most, value));
  };
  return {
    scale,
    x: bound(x, picture.width, area.width),
    y: bound(y, picture.height, area.height),
  };
}

/** The zoom after the fingers are lifted. If nearly the whole picture is visible, the whole picture is shown. */
export function settled(zoom: Zoom): Zoom {
  return zoom.scale < NEARLY_WHOLE ? WHOLE : zoom;
}

/** Moves the picture so that a point of the page, such as the pointer, is inside the area. @returns the new zoom */
export function showing(zoom: Zoom, point: Point, area: ZoomArea): Zoom {
  const along = (axis: 'x' | 'y', room: number) => {
    const half = Math.max(0, room / 2 - EDGE_PX);
    const off = point[axis] - area.middle[axis];
    return zoom[axis] - (off - Math.min(half, Math.max(-half, off)));
  };
  return within({ ...zoom, x: along('x', area.area.width), y: along('y', area.area.height) }, area);
}
