import { useEffect, useRef } from 'react';
import { clock } from '../clock.ts';
import { noteInput } from './input-kind.ts';
import { moveByArrow } from './move-focus.ts';
import { directionOf } from './next-place.ts';
import { actAsKeyboard } from './pad-keys.ts';
import { padKindOf } from './pad-kind.ts';
import { type Held, pressesOf } from './pad-presses.ts';

/**
 * Moves the focus of the whole page by arrow keys and gamepads while the component is mounted. A gamepad is read once
 * a frame, only while one is connected and the page is in front.
 * @param onBack for a gamepad's back button where nothing is open
 */
export function usePadAndArrows(onBack: () => void): void {
  const back = useRef(onBack);
  back.current = onBack;
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    const onKey = (event: KeyboardEvent) => {
      if (event.isTrusted && (directionOf(event.key) !== null || event.key === 'Tab')) noteInput('keys');
      moveByArrow(event);
    };
    const onPointer = (event: PointerEvent) => {
      // A hand that rests on a mouse does not take the focus ring away.
      if (event.type === 'pointerdown' || event.movementX !== 0 || event.movementY !== 0)
        noteInput('pointer');
    };
    document.addEventListener('keydown', onKey, { signal });
    document.addEventListener('pointerdown', onPointer, { signal });
    document.addEventListener('pointermove', onPointer, { signal });

    let held: Held = new Map();
    let frame = 0;
    const read = () => {
      const pads = navigator.getGamepads().filter((pad) => pad !== null);
      frame = pads.length === 0 || document.hidden ? 0 : requestAnimationFrame(read);
      const step = pressesOf(held, pads, clock.monotonicMs());
      held = step.held;
      if (!document.hasFocus()) return;
      for (const { action, repeated, padId } of step.presses) {
        noteInput(padKindOf(padId));
        if (!actAsKeyboard(action, repeated) && action === 'back') back.current();
      }
    };
    const start = () => {
      if (frame === 0) read();
    };
    window.addEventListener('gamepadconnected', start, { signal });
    document.addEventListener('visibilitychange', start, { signal });
    start();
    return () => {
      end.abort();
      cancelAnimationFrame(frame);
    };
  }, []);
}
