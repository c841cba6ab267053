/** Converts coordinates between page, video element and picture. Pure. */
import { fractionToCoordinate } from '@footlight/protocol/input';

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * The rectangle of the picture, without the black bars around it.
 * @param element box of the video element in CSS pixels
 * @param video size of the decoded picture; 0: unknown, then the picture fills the element
 * @param fit the element's object-fit
 */
export function pictureBox(element: Box, video: { width: number; height: number }, fit: string): Box {
  if (video.width <= 0 || video.height <= 0 || element.width <= 0 || element.height <= 0 || fit === 'fill')
    return element;
  const scales = [element.width / video.width, element.height / video.height] as const;
  const scale = fit === 'cover' ? Math.max(...scales) : fit === 'none' ? 1 : Math.min(...scales);
  const width = video.width * scale;
  const height = video.height * scale;
  return {
    left: element.left + (element.width - width) / 2,
    top: element.top + (element.height - height) / 2,
    width,
    height,
  };
}

/** Coordinates in messages for a point of the page. A point outside the picture is moved to the picture's edge. */
export function toWire(box: Box, clientX: number, clientY: number): { x: number; y: number } {
  return {
    x: fractionToCoordinate(box.width > 0 ? (clientX - box.left) / box.width : 0),
    y: fractionToCoordinate(box.height > 0 ? (clientY - box.top) / box.height : 0),
  };
}

/** Whether a point of the page is inside the picture. */
export function isInside(box: Box, clientX: number, clientY: number): boolean {
  return (
    clientX >= box.left &&
    clientX < box.left + box.width &&
    clientY >= box.top &&
    clientY < box.top + box.height
  );
}

/** Pixels per wheel notch in a browser, and lines per notch. */
const PX_PER_NOTCH = 100;
const LINES_PER_NOTCH = 3;
const UNITS_PER_NOTCH = 120;
/** Lines per page, for a wheel that scrolls by pages. Chosen: browsers do not report it. */
const PAGE_NOTCHES = 10;

/** Units of 1/120 notch for one axis of a wheel event. @param mode WheelEvent.deltaMode: 0 pixels, 1 lines, 2 pages */
export function wheelUnits(delta: number, mode: number): number {
  if (mode === 1) return (delta / LINES_PER_NOTCH) * UNITS_PER_NOTCH;
  if (mode === 2) return delta * PAGE_NOTCHES * UNITS_PER_NOTCH;
  return (delta / PX_PER_NOTCH) * UNITS_PER_NOTCH;
}
