import { useEffect, useRef } from 'react';
import { connectedPads } from './connected-pads.ts';
import { noteInput } from './input-kind.ts';
import { moveByArrow } from './move-focus.ts';
import { directionOf } from './next-place.ts';

/**
 * Handlers of the back button when nothing is open, one for each mounted part of the page. Only the last handler is
 * called.
 */
const backs: (() => void)[] = [];
let end = new AbortController();

/**
 * Moves the focus of the whole page by arrow keys and gamepads while the component is mounted.
 * Nested parts of a page may each use it.
 * @param onBack called for a gamepad's back button when nothing is open
 */
export function usePadAndArrows(onBack: () => void): void {
  const back = useRef(onBack);
  back.current = onBack;
  useEffect(() => followPadAndArrows(() => back.current()), []);
}

/** The same as usePadAndArrows, for code outside React. @returns a function that stops it */
export function followPadAndArrows(onBack: () => void): () => void {
  const own = () => onBack();
  backs.push(own);
  if (backs.length === 1) {
    end = new AbortController();
    listen(end.signal);
  }
  return () => {
    backs.splice(backs.indexOf(own), 1);
    if (backs.length === 0) end.abort();
  };
}

function listen(signal: AbortSignal): void {
  const onKey = (event: KeyboardEvent) => {
    if (event.isTrusted && (directionOf(event.key) !== null || event.key === 'Tab')) noteInput('keys');
    moveByArrow(event);
  };
  const onPointer = (event: PointerEvent) => {
    // Ignores a pointermove without movement, which browsers also send for a mouse that rests, so that the focus ring
    // stays.
    if (event.type === 'pointerdown' || event.movementX !== 0 || event.movementY !== 0) noteInput('pointer');
  };
  document.addEventListener('keydown', onKey, { signal });
  document.addEventListener('pointerdown', onPointer, { signal });
  document.addEventListener('pointermove', onPointer, { signal });

  // The code is loaded with the first gamepad, because few people have one.
  let loaded = false;
  const load = () => {
    if (loaded || connectedPads().length === 0) return;
    loaded = true;
    void import('./read-pads.ts').then(
      ({ readPads }) => !signal.aborted && readPads(() => backs.at(-1)?.(), signal),
      // If the code cannot be loaded, the keyboard still works, and the next gamepad tries again.
      () => {
        loaded = false;
      },
    );
  };
  window.addEventListener('gamepadconnected', load, { signal });
  load();
}
