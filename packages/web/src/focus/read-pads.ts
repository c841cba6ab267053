import { clock } from '../clock.ts';
import { connectedPads } from './connected-pads.ts';
import { noteInput } from './input-kind.ts';
import { actAsKeyboard } from './pad-keys.ts';
import { padKindOf } from './pad-kind.ts';
import { type Held, pressesOf } from './pad-presses.ts';

/**
 * Reads the gamepads once a frame and performs the actions of their buttons, while a gamepad is connected and the page
 * is visible.
 * @param onBack called for the back button when nothing is open
 * @param signal stops it
 */
export function readPads(onBack: () => void, signal: AbortSignal): void {
  let held: Held = new Map();
  let frame = 0;
  const read = () => {
    const pads = connectedPads();
    frame = pads.length === 0 || document.hidden ? 0 : requestAnimationFrame(read);
    const step = pressesOf(held, pads, clock.monotonicMs());
    held = step.held;
    if (!document.hasFocus()) return;
    for (const { action, repeated, padId } of step.presses) {
      noteInput(padKindOf(padId));
      if (!actAsKeyboard(action, repeated) && action === 'back') onBack();
    }
  };
  const start = () => {
    if (frame === 0) read();
  };
  window.addEventListener('gamepadconnected', start, { signal });
  document.addEventListener('visibilitychange', start, { signal });
  signal.addEventListener('abort', () => cancelAnimationFrame(frame));
  start();
}
