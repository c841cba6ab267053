import { actionsOf, type PadAction, padKindOf } from './pad-kind.ts';

/** The members of navigator.getGamepads() that the page reads. */
export type PadReading = Pick<Gamepad, 'id' | 'index' | 'axes'> & {
  readonly buttons: readonly Pick<GamepadButton, 'pressed'>[];
};

/** Held actions by gamepad and action, with the time of the next repetition (ms). */
export type Held = ReadonlyMap<string, number>;

/** A stick counts as pushed from this share of its range on. Worn sticks rest up to 0.2 from the middle. */
const PUSHED = 0.5;
/** Repetition like that of a keyboard's arrow key; both times chosen, not measured. */
const FIRST_REPEAT_MS = 400;
const REPEAT_MS = 90;
const REPEATED: ReadonlySet<PadAction> = new Set(['left', 'right', 'up', 'down']);

/** An action that begins or repeats now. */
export interface Press {
  action: PadAction;
  repeated: boolean;
  padId: string;
}

/** Actions since the last reading. Pure; a held direction repeats. */
export function pressesOf(
  held: Held,
  pads: readonly (PadReading | null)[],
  nowMs: number,
): { held: Held; presses: Press[] } {
  const next = new Map<string, number>();
  const presses: Press[] = [];
  for (const pad of pads) {
    if (pad === null) continue;
    for (const action of actionsIn(pad)) {
      const key = `${pad.index}:${action}`;
      const due = held.get(key);
      if (due !== undefined && (nowMs < due || !REPEATED.has(action))) {
        next.set(key, due);
        continue;
      }
      next.set(key, nowMs + (due === undefined ? FIRST_REPEAT_MS : REPEAT_MS));
      presses.push({ action, repeated: due !== undefined, padId: pad.id });
    }
  }
  return { held: next, presses };
}

/** Actions of the buttons and the left stick that are pressed now. */
function actionsIn(pad: PadReading): Set<PadAction> {
  const actions = actionsOf(padKindOf(pad.id));
  const down = new Set<PadAction>();
  for (const [index, button] of pad.buttons.entries()) {
    const action = actions[index];
    if (button.pressed && action !== undefined) down.add(action);
  }
  const [x = 0, y = 0] = pad.axes;
  // Uses only the main direction, so that a diagonal stick does not move twice.
  if (Math.abs(x) >= Math.abs(y)) {
    if (x > PUSHED) down.add('right');
    if (x < -PUSHED) down.add('left');
  } else {
    if (y > PUSHED) down.add('down');
    if (y < -PUSHED) down.add('up');
  }
  return down;
}
