/**
 * The touch settings of this device. The browser stores them, because a person's phone and desktop need different
 * settings.
 */
import { PAD_LAYOUTS, type PadLayoutName } from './pad-layouts.ts';

export const TOUCH_MODES = ['direct', 'pad'] as const;
/** direct: fingers touch the app. pad: the picture is a touch pad. */
export type TouchMode = (typeof TOUCH_MODES)[number];

export interface TouchChoice {
  mode: TouchMode;
  /** the gamepad on the screen; null: no gamepad */
  gamepad: PadLayoutName | null;
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
  const { mode, gamepad } = (typeof stored === 'object' && stored !== null ? stored : {}) as Record<
    string,
    unknown
  >;
  return {
    mode: TOUCH_MODES.find((each) => each === mode) ?? 'direct',
    gamepad: PAD_LAYOUTS.find(({ name }) => name === gamepad)?.name ?? null,
  };
}

export function keepTouchChoice(choice: TouchChoice): void {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(choice));
  } catch {
    // If storage is missing, the choice lasts for this visit.
  }
}
