import type { Timer } from '@footlight/platform/timer';
import type { StreamClient } from '@footlight/stream-client';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import { msg } from '../../i18n/translate.ts';
import { type BarPlace, isAtEdge } from './bar-place.ts';

/** Time for which the bar stays after the pointer has stopped, so that a person can read its symbols. */
const STAYS_MS = 2000;
/** Distance from the edge within which a pointer opens the bar. A wider zone would include menus of the app. */
const EDGE_PX = 3;
/**
 * Time that the pointer must rest at the edge. A pointer that moves to a menu or to another window rests for a shorter
 * time.
 */
const REST_MS = 300;
/**
 * Time of a long press. It is longer than a tap (Android's long press is 400 ms), so that games with held touches
 * rarely open the bar.
 */
const LONG_PRESS_MS = 600;
/** Largest movement of a finger that rests; a larger movement draws or scrolls in the app. */
const TREMBLE_PX = 12;

/** The key combination that releases the keyboard, as readable text. */
export const BAR_KEYS = msg('Ctrl + Alt + Shift + Z');

/**
 * Shows the bar after one of these: a pointer rests at its edge, its handle is pressed, a long press, a pad's request,
 * or the key combination. The bar hides after two seconds, unless it has the pointer or the focus, and hides at once
 * when the picture is pressed.
 * @param place longPress false: a long press belongs to the app
 * @returns focusAsked: how often keys or a pad requested the shown bar, which then gets the focus; 0: fingers or a
 *   pointer opened it
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
      // While a button is held, a move to the edge is a drag in the app.
      if (handle || event.buttons !== 0 || !isAtEdge(at, edge, { width, height }, EDGE_PX)) left();
      else rest ??= clock.setTimeout(rested, REST_MS);
    };
    const pressed = (event: PointerEvent) => {
      // Two fingers are a gesture for the app.
      released();
      left();
      if (!held.current.pointer) hide();
      if (event.pointerType === 'mouse' || !event.isPrimary || !longPress) return;
      from = { x: event.clientX, y: event.clientY };
      press = clock.setTimeout(() => reveal(2 * STAYS_MS), LONG_PRESS_MS);
    };
    // Listens in the capture phase, because the player stops events that it sends to the app.
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
        // A touch does not focus the bar, because fingers can press buttons without the focus.
        if (source !== 'touch') setFocusAsked((times) => times + 1);
      }),
    [client, reveal],
  );

  return { shown, focusAsked, reveal, hold };
}
