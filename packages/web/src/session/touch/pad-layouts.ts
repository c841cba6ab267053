/** The gamepads that can be shown on a touch screen, and the positions of their controls. Pure. */

import { msg } from '../../i18n/translate.ts';

/** Names of the controls, as on the pad that apps see. Numbers: https://w3c.github.io/gamepad/#remapping */
const BUTTONS = {
  A: 0,
  B: 1,
  X: 2,
  Y: 3,
  LB: 4,
  RB: 5,
  LT: 6,
  RT: 7,
  Back: 8,
  Start: 9,
  L3: 10,
  R3: 11,
  Guide: 16,
} as const;
type ButtonName = keyof typeof BUTTONS;

/** Up, down, left, right. */
export const CROSS = { up: 12, down: 13, left: 14, right: 15 } as const;
/** Number of buttons in the standard mapping. */
export const PAD_BUTTONS = 17;

/** A part of one side of the pad: a row of buttons, or a square of three by three buttons. */
type Part = readonly ButtonName[] | 'cross' | 'letters' | 'stick';

interface PadLayout {
  name: string;
  /** name for people */
  label: string;
  /** parts of the left side, from top to bottom */
  left: readonly Part[];
  right: readonly Part[];
  middle: readonly ButtonName[];
}

export const PAD_LAYOUTS = [
  {
    name: 'full',
    label: msg('Full gamepad'),
    left: [['LT', 'LB'], 'cross', 'stick'],
    right: [['RB', 'RT'], 'letters', 'stick'],
    middle: ['L3', 'Back', 'Guide', 'Start', 'R3'],
  },
  {
    name: 'classic',
    label: msg('Cross and buttons'),
    left: [['LB'], 'cross'],
    right: [['RB'], 'letters'],
    middle: ['Back', 'Start'],
  },
  {
    name: 'sticks',
    label: msg('Two sticks'),
    left: [['LT', 'LB'], 'stick'],
    right: [['RB', 'RT'], 'stick'],
    middle: ['X', 'A', 'B', 'Start'],
  },
] as const satisfies readonly PadLayout[];
export type PadLayoutName = (typeof PAD_LAYOUTS)[number]['name'];

/** The parts of a pad that a person can move. */
export const PAD_GROUPS = ['left', 'middle', 'right'] as const;
export type PadGroup = (typeof PAD_GROUPS)[number];

/** How far a person has moved each part: shares of the area's width and height, right and down are positive. */
export type PadShift = Readonly<Partial<Record<PadGroup, { x: number; y: number }>>>;

/** A control with its position: its square in CSS pixels from the area's left and top edge. */
export interface PadControl {
  group: PadGroup;
  kind: 'button' | 'cross' | 'stick';
  /** number of a button; first axis of a stick; 0 for the cross */
  index: number;
  label: string;
  left: number;
  top: number;
  size: number;
}

type Placed = Omit<PadControl, 'group'>;

export interface PadArea {
  width: number;
  height: number;
}

/** Smallest width and height of a control for a finger (WCAG 2.5.5). */
export const LEAST_PX = 44;
/** Largest width of a button. Wider buttons would cover more of the picture. Chosen, not measured. */
const MAX_PX = 58;
/** Size of the buttons in the middle. They are smaller, because people press them less often. */
const MIDDLE_PX = 48;
const GAP_PX = 8;
const EDGE_PX = 10;

/**
 * Places the controls of a layout: a column at each side, and the rest between the columns. In a narrow area the rest
 * is above the columns. In a low area the parts of a side are next to each other.
 * @returns controls that do not overlap, in an area of at least 320 × 400 or 568 × 320
 */
export function placePad(name: PadLayoutName, area: PadArea): PadControl[] {
  const layout: PadLayout = PAD_LAYOUTS.find((each) => each.name === name) ?? PAD_LAYOUTS[0];
  const whole = area.height - 2 * EDGE_PX;
  const stacked = columnHeight(layout.left, LEAST_PX) <= whole;
  const widest = unitOf(layout.left, area, whole);
  // The row above the sides needs its own space.
  const isAbove = area.width - 2 * (EDGE_PX + 3 * widest + GAP_PX) < middleWidth(layout.middle, widest);
  const unit = isAbove ? unitOf(layout.left, area, whole - MIDDLE_PX - GAP_PX) : widest;
  const sides = [
    ...placeSide(layout.left, unit, stacked, 0).map((each) => ({
      ...each,
      group: 'left' as const,
      left: EDGE_PX + each.left,
    })),
    ...placeSide(layout.right, unit, stacked, 2).map((each) => ({
      ...each,
      group: 'right' as const,
      left: area.width - EDGE_PX - each.left - each.size,
    })),
  ].map((each) => ({ ...each, top: area.height - EDGE_PX - each.top - each.size }));
  return [
    ...sides,
    ...placeMiddle(layout.middle, unit, area, sides).map((each) => ({ ...each, group: 'middle' as const })),
  ];
}

/** Moves the parts of a pad, each at most to the edges of the area. */
export function shiftPad(controls: readonly PadControl[], area: PadArea, shift: PadShift): PadControl[] {
  return PAD_GROUPS.flatMap((group) => {
    const part = controls.filter((control) => control.group === group);
    const { x = 0, y = 0 } = shift[group] ?? {};
    const within = (moved: number, least: number, most: number) =>
      Math.min(most, Math.max(least, Math.round(moved)));
    const dx = within(
      x * area.width,
      -Math.min(...part.map(({ left }) => left)),
      area.width - Math.max(...part.map(({ left, size }) => left + size)),
    );
    const dy = within(
      y * area.height,
      -Math.min(...part.map(({ top }) => top)),
      area.height - Math.max(...part.map(({ top, size }) => top + size)),
    );
    return part.map((control) => ({ ...control, left: control.left + dx, top: control.top + dy }));
  });
}

/** Width and height of a button, CSS pixels. */
function unitOf(parts: readonly Part[], area: PadArea, room: number): number {
  const rows = parts.reduce((sum, part) => sum + (isRow(part) ? 1 : 3), 0);
  const high = (room - GAP_PX * (parts.length - 1)) / rows;
  // Two columns of three buttons, and a gap between them.
  const wide = (area.width - 2 * EDGE_PX - GAP_PX) / 6;
  return Math.max(LEAST_PX, Math.min(MAX_PX, Math.floor(Math.min(high, wide))));
}

const isRow = (part: Part): part is readonly ButtonName[] => typeof part !== 'string';

function columnHeight(parts: readonly Part[], unit: number): number {
  const units = parts.reduce((sum, part) => sum + (isRow(part) ? 1 : 3), 0);
  return units * unit + (parts.length - 1) * GAP_PX;
}

/**
 * Places one side, measured from its lower outer corner.
 * @param stacked the parts are above each other; otherwise the squares are next to each other
 */
function placeSide(parts: readonly Part[], unit: number, stacked: boolean, firstAxis: number): Placed[] {
  const controls: Placed[] = [];
  let bottom = 0;
  let out = 0;
  for (const part of [...parts].reverse()) {
    if (isRow(part)) {
      const top = stacked ? bottom : 3 * unit + GAP_PX;
      // The trigger is at the outer edge.
      const outward = firstAxis === 0 ? part : [...part].reverse();
      outward.forEach((label, at) => {
        controls.push(button(label, at * (unit + GAP_PX), top, unit));
      });
      bottom += unit + GAP_PX;
      continue;
    }
    controls.push(...placeSquare(part, unit, { out, bottom: stacked ? bottom : 0 }, firstAxis));
    bottom += 3 * unit + GAP_PX;
    if (!stacked) out += 3 * unit + GAP_PX;
  }
  return controls;
}

function placeSquare(
  part: Exclude<Part, readonly ButtonName[]>,
  unit: number,
  { out, bottom }: { out: number; bottom: number },
  firstAxis: number,
): Placed[] {
  const whole = { left: out, top: bottom, size: 3 * unit };
  if (part === 'stick') {
    const label = firstAxis === 0 ? 'Left stick' : 'Right stick';
    return [{ kind: 'stick', index: firstAxis, label, ...whole }];
  }
  if (part === 'cross') return [{ kind: 'cross', index: 0, label: 'Directions', ...whole }];
  // From the lower right corner: A below, B at the right, X at the left, Y above.
  return [
    button('A', out + unit, bottom, unit),
    button('B', out, bottom + unit, unit),
    button('X', out + 2 * unit, bottom + unit, unit),
    button('Y', out + unit, bottom + 2 * unit, unit),
  ];
}

function button(label: ButtonName, left: number, top: number, size: number): Placed {
  return { kind: 'button', index: BUTTONS[label], label, left, top, size };
}

function middleWidth(names: readonly ButtonName[], unit: number): number {
  return names.length * Math.min(unit, MIDDLE_PX) + (names.length - 1) * GAP_PX;
}

function placeMiddle(
  names: readonly ButtonName[],
  unit: number,
  area: PadArea,
  sides: readonly PadControl[],
): Placed[] {
  const size = Math.min(unit, MIDDLE_PX);
  const width = middleWidth(names, unit);
  const half = area.width / 2;
  const inner = Math.max(...sides.filter(({ left }) => left < half).map((each) => each.left + each.size));
  const fits = area.width - 2 * (inner + GAP_PX) >= width;
  const highest = Math.min(...sides.map(({ top }) => top));
  const above = Math.max(0, highest - GAP_PX - size);
  const top = fits ? area.height - EDGE_PX - size : above;
  return names.map((label, at) => button(label, (area.width - width) / 2 + at * (size + GAP_PX), top, size));
}
