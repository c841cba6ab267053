/** How this device is touched, remembered in its browser: a phone and a desk of the same person differ. */
import { PAD_LAYOUTS, type PadLayoutName } from './pad-layouts.ts';

export const TOUCH_MODES = ['direct', 'pad'] as const;
/** direct: a finger is on the app. pad: the picture is a touch pad. */
export type TouchMode = (typeof TOUCH_MODES)[number];

export interface TouchChoice {
  mode: TouchMode;
  /** the gamepad on the screen; null: none */
  gamepad: PadLayoutName | null;
}

const STORAGE_KEY = 'footlight.touch';

/** The choice of this device; direct touch without a gamepad at first. */
export function readTouchChoice(): TouchChoice {
  let stored: unknown = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null');
  } catch {
    // Storage can be refused or hold anything; the first choice counts then.
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
    // Without storage the choice lasts for this visit.
  }
}
