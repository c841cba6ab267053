import { useEffect, useRef } from 'react';
import { noteInput } from './input-kind.ts';
import { moveByArrow } from './move-focus.ts';
import { directionOf } from './next-place.ts';

/**
 * Moves the focus of the whole page by arrow keys and gamepads while the component is mounted.
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

    // Few people have a gamepad, so its code comes with the first one.
    let loaded = false;
    const load = () => {
      if (loaded || navigator.getGamepads().every((pad) => pad === null)) return;
      loaded = true;
      void import('./read-pads.ts').then(
        ({ readPads }) => !signal.aborted && readPads(() => back.current(), signal),
        // The keyboard still works; the next gamepad tries again.
        () => {
          loaded = false;
        },
      );
    };
    window.addEventListener('gamepadconnected', load, { signal });
    load();
    return () => end.abort();
  }, []);
}
