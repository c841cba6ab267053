/** The action of a gamepad's button on a page. */
export type PadAction =
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'accept'
  | 'back'
  | 'find'
  | 'favourite'
  | 'quality'
  | 'menu';

/** Makers of gamepads. Their face buttons have different labels. */
export type PadKind = 'xbox' | 'playstation' | 'nintendo';

/** Buttons by the standard layout: https://w3c.github.io/gamepad/#remapping */
const BOTTOM = 0;
const RIGHT = 1;
const LEFT = 2;
const TOP = 3;
const SELECT = 8;
const START = 9;
const PAD_UP = 12;

const USUAL: Readonly<Record<number, PadAction>> = {
  [BOTTOM]: 'accept',
  [RIGHT]: 'back',
  [LEFT]: 'find',
  [TOP]: 'favourite',
  [SELECT]: 'quality',
  [START]: 'menu',
  [PAD_UP]: 'up',
  [PAD_UP + 1]: 'down',
  [PAD_UP + 2]: 'left',
  [PAD_UP + 3]: 'right',
};

const SIGNS: Readonly<Record<PadKind, Readonly<Record<number, string>>>> = {
  xbox: { [BOTTOM]: 'A', [RIGHT]: 'B', [LEFT]: 'X', [TOP]: 'Y', [SELECT]: '⧉', [START]: '☰' },
  playstation: { [BOTTOM]: '✕', [RIGHT]: '○', [LEFT]: '□', [TOP]: '△', [SELECT]: '⋔', [START]: '☰' },
  nintendo: { [BOTTOM]: 'B', [RIGHT]: 'A', [LEFT]: 'Y', [TOP]: 'X', [SELECT]: '−', [START]: '+' },
};

/**
 * The maker, from the name or the USB vendor in a gamepad's id. Most other pads have Xbox's labels, so this is the
 * default.
 */
export function padKindOf(id: string): PadKind {
  if (/\b054c\b|playstation|dualsense|dualshock|sony/i.test(id)) return 'playstation';
  if (/\b057e\b|nintendo|joy-con|switch pro/i.test(id)) return 'nintendo';
  return 'xbox';
}

/** Actions by button. On Nintendo's pads the right button accepts, because it has the label A. */
export function actionsOf(kind: PadKind): Readonly<Record<number, PadAction>> {
  return kind === 'nintendo' ? { ...USUAL, [BOTTOM]: 'back', [RIGHT]: 'accept' } : USUAL;
}

/** The label on the button for an action; "" if the button has none. */
export function signOf(kind: PadKind, action: PadAction): string {
  const button = Object.entries(actionsOf(kind)).find(([, does]) => does === action)?.[0];
  return (button === undefined ? undefined : SIGNS[kind][Number(button)]) ?? '';
}
