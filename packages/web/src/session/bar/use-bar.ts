import type { Timer } from '@footlight/platform/timer';
import type { StreamClient } from '@footlight/stream-client';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import { type BarPlace, isAtEdge } from './bar-place.ts';

/** Time to read the bar's symbols after the pointer stopped. */
const STAYS_MS = 2000;
/** Distance of a pointer that is pushed against the edge; a wider zone would include menus of the app. */
const EDGE_PX = 3;
/** Time at the edge: a pointer on its way to a menu or another window does not rest for so long. */
const REST_MS = 300;
/** Longer than a tap (Android's long press is 400 ms), so that games with held touches rarely open the bar. */
const LONG_PRESS_MS = 600;
/** Largest movement of a resting finger; a larger one draws or scrolls in the app. */
const TREMBLE_PX = 12;

/** The key combination that releases the keyboard, as readable text. */
export const BAR_KEYS = 'Ctrl + Alt + Shift + Z';

/**
 * Shows the bar: a pointer that rests at its edge, its handle, a long press, a pad's request, or the key combination. It hides after two seconds unless pointer or focus is in it, and at once with a press on the picture.
 * @param place longPress false: a long press belongs to the app
 * @returns focusAsked: how often keys or a pad requested the shown bar, which then takes the focus; 0: fingers or a
 * pointer opened it
 */
export function useBar(
  theatre: RefObject<HTMLElement | null>,
  client: StreamClient | null,
  { edge, handle, longPress = true }: BarPlace & { longPress?: boolean },
) {
  const [shown, setShown] = useState(false);
  const [focusAsked, setFocusAsked] = useState(0);
  const held = useRef({ pointer: false, focus: false });
  const timer = useRef<Timer>(undefined);
  const hide = useCallback(() => {
    setShown(false);
    setFocusAsked(0);
  }, []);
  const reveal = useCallback(
    (staysMs = STAYS_MS) => {
      setShown(true);
      timer.current?.cancel();
      timer.current = clock.setTimeout(() => {
        if (!held.current.pointer && !held.current.focus) hide();
      }, staysMs);
    },
    [hide],
  );
  const hold = useCallback(
    (by: 'pointer' | 'focus', holds: boolean) => {
      held.current[by] = holds;
      reveal();
    },
    [reveal],
  );

  useEffect(() => {
    const element = theatre.current;
    if (element === null) return;
    let press: Timer | undefined;
    let rest: Timer | undefined;
    let from = { x: 0, y: 0 };
    const released = () => press?.cancel();
    const left = () => {
      rest?.cancel();
      rest = undefined;
    };
    const rested = () => {
      left();
      reveal();
    };
    const moved = (event: PointerEvent) => {
      if (event.pointerType !== 'mouse') {
        if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > TREMBLE_PX) released();
        return;
      }
      const { innerWidth: width, innerHeight: height } = window;
      const at = { x: event.clientX, y: event.clientY };
      // A drag to the edge is input of the app.
      if (handle || event.buttons !== 0 || !isAtEdge(at, edge, { width, height }, EDGE_PX)) left();
      else rest ??= clock.setTimeout(rested, REST_MS);
    };
    const pressed = (event: PointerEvent) => {
      // A second finger starts a gesture of the app.
      released();
      left();
      if (!held.current.pointer) hide();
      if (event.pointerType === 'mouse' || !event.isPrimary || !longPress) return;
      from = { x: event.clientX, y: event.clientY };
      press = clock.setTimeout(() => reveal(2 * STAYS_MS), LONG_PRESS_MS);
    };
    // In the capture phase, because the player stops events that it sends to the app.
    const options = { capture: true };
    element.addEventListener('pointermove', moved, options);
    element.addEventListener('pointerdown', pressed, options);
    element.addEventListener('pointerup', released, options);
    element.addEventListener('pointercancel', released, options);
    element.addEventListener('pointerleave', left);
    return () => {
      press?.cancel();
      left();
      timer.current?.cancel();
      element.removeEventListener('pointerleave', left);
      element.removeEventListener('pointermove', moved, options);
      element.removeEventListener('pointerdown', pressed, options);
      element.removeEventListener('pointerup', released, options);
      element.removeEventListener('pointercancel', released, options);
    };
  }, [theatre, reveal, hide, edge, handle, longPress]);

  useEffect(
    () =>
      client?.on('menu', ({ source }) => {
        reveal(source === 'touch' ? 2 * STAYS_MS : STAYS_MS);
        // Not for touch: fingers can press without the focus.
        if (source !== 'touch') setFocusAsked((times) => times + 1);
      }),
    [client, reveal],
  );

  return { shown, focusAsked, reveal, hold };
}
