/**
 * The touch settings of this device. The browser stores them, because a person's phone and desktop need different
 * settings.
 */
import { PAD_GROUPS, PAD_LAYOUTS, type PadLayoutName, type PadShift } from './pad-layouts.ts';

export const TOUCH_MODES = ['direct', 'pad'] as const;
/** direct: fingers touch the app. pad: the picture is a touch pad. */
export type TouchMode = (typeof TOUCH_MODES)[number];

export interface TouchChoice {
  mode: TouchMode;
  /** the gamepad on the screen; null: no gamepad */
  gamepad: PadLayoutName | null;
  /** where the person has moved the parts of the gamepad */
  shift: PadShift;
}

const STORAGE_KEY = 'footlight.touch';

/** The stored choice of this device; by default direct touch without a gamepad. */
export function readTouchChoice(): TouchChoice {
  let stored: unknown = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null');
  } catch {
    // If storage is missing or contains invalid values, the default is used.
  }
  const { mode, gamepad, shift } = recordOf(stored);
  return {
    mode: TOUCH_MODES.find((each) => each === mode) ?? 'direct',
    gamepad: PAD_LAYOUTS.find(({ name }) => name === gamepad)?.name ?? null,
    shift: shiftOf(shift),
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function shiftOf(stored: unknown): PadShift {
  const shift = recordOf(stored);
  return Object.fromEntries(
    PAD_GROUPS.flatMap((group) => {
      const { x, y } = recordOf(shift[group]);
      return isShare(x) && isShare(y) ? [[group, { x, y }]] : [];
    }),
  );
}

const isShare = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= 1;

export function keepTouchChoice(choice: TouchChoice): void {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(choice));
  } catch {
    // If storage is missing, the choice lasts for this visit.
  }
}
