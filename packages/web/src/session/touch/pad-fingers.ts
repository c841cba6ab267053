/** Tracks fingers on the controls of an on-screen gamepad. Pure except for its own state. */
import type { PadReading } from '@footlight/stream-client';
import type { Point } from './gestures.ts';
import { CROSS, PAD_BUTTONS, type PadControl } from './pad-layouts.ts';

/** Dead zone, as a share of a stick's range, because a thumb is never exactly in the middle. Chosen, not measured. */
const STICK_DEAD = 0.15;
/**
 * The stick reaches its end at this share of half the control's width, so that the finger is still inside the control.
 */
const STICK_WAY = 0.8;
/** Share of the cross around its middle that presses no direction. */
const CROSS_DEAD = 0.2;
/** Largest distance from a button at which a sliding finger still presses it, CSS pixels. */
const SLIDE_PX = 8;

/** State of the pad, for drawing it. */
export interface PadPicture {
  /** numbers of the pressed buttons, including those of the cross */
  pressed: ReadonlySet<number>;
  /** positions of the sticks, −1 to 1, by the number of the stick's first axis */
  sticks: ReadonlyMap<number, Point>;
}

/** A finger stays with the control on which it was put down. On buttons it may slide from button to button. */
export class PadFingers {
  #controls: readonly PadControl[];
  #fingers = new Map<number, { control: PadControl; at: Point }>();

  constructor(controls: readonly PadControl[]) {
    this.#controls = controls;
  }

  /** @returns whether the finger is on a control */
  down(id: number, at: Point): boolean {
    const control = this.#controls.find((each) => isOn(each, at, 0));
    if (control !== undefined) this.#fingers.set(id, { control, at });
    return control !== undefined;
  }

  move(id: number, at: Point): void {
    const finger = this.#fingers.get(id);
    if (finger === undefined) return;
    finger.at = at;
    if (finger.control.kind !== 'button' || isOn(finger.control, at, SLIDE_PX)) return;
    finger.control =
      this.#controls.find((each) => each.kind === 'button' && isOn(each, at, 0)) ?? finger.control;
  }

  up(id: number): void {
    this.#fingers.delete(id);
  }

  clear(): void {
    this.#fingers.clear();
  }

  get picture(): PadPicture {
    const pressed = new Set<number>();
    const sticks = new Map<number, Point>();
    for (const { control, at } of this.#fingers.values()) {
      if (control.kind === 'stick') sticks.set(control.index, stickAt(control, at));
      else if (control.kind === 'cross') for (const index of directionsAt(control, at)) pressed.add(index);
      else if (isOn(control, at, SLIDE_PX)) pressed.add(control.index);
    }
    return { pressed, sticks };
  }
}

/** State of the pad in the standard mapping. */
export function readingOf({ pressed, sticks }: PadPicture): PadReading {
  const [left, right] = [sticks.get(0), sticks.get(2)];
  return {
    buttons: Array.from({ length: PAD_BUTTONS }, (_, index) => {
      const isPressed = pressed.has(index);
      return { pressed: isPressed, value: isPressed ? 1 : 0 };
    }),
    axes: [left?.x ?? 0, left?.y ?? 0, right?.x ?? 0, right?.y ?? 0],
  };
}

/** Position of a stick without its dead zone: −1 to 1 on each axis, and at most 1 from the middle. */
function stickAt(control: PadControl, at: Point): Point {
  const { x, y } = fromMiddle(control, at);
  const way = Math.hypot(x, y) / STICK_WAY;
  if (way <= STICK_DEAD) return { x: 0, y: 0 };
  const out = Math.min(1, (way - STICK_DEAD) / (1 - STICK_DEAD));
  const length = Math.hypot(x, y);
  return { x: (x / length) * out, y: (y / length) * out };
}

/** One direction, or two for a diagonal. Each of the eight sectors is an eighth of the circle. */
function directionsAt(control: PadControl, at: Point): number[] {
  const { x, y } = fromMiddle(control, at);
  if (Math.hypot(x, y) < CROSS_DEAD) return [];
  const eighth = Math.PI / 8;
  const [across, along] = [Math.abs(Math.atan2(y, Math.abs(x))), Math.abs(Math.atan2(x, Math.abs(y)))];
  const directions: number[] = [];
  if (across < 3 * eighth) directions.push(x > 0 ? CROSS.right : CROSS.left);
  if (along < 3 * eighth) directions.push(y > 0 ? CROSS.down : CROSS.up);
  return directions;
}

/** Distance from the middle of a control, 1 at its edge. */
function fromMiddle({ left, top, size }: PadControl, at: Point): Point {
  return { x: (at.x - left - size / 2) / (size / 2), y: (at.y - top - size / 2) / (size / 2) };
}

function isOn({ left, top, size }: PadControl, { x, y }: Point, slackPx: number): boolean {
  return x >= left - slackPx && x <= left + size + slackPx && y >= top - slackPx && y <= top + size + slackPx;
}
