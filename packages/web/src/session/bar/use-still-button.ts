import { type PointerEvent, type RefObject, useLayoutEffect, useRef } from 'react';
import type { BarPlace } from './bar-place.ts';

/**
 * Keeps the button under the pointer at its place while other parts of the bar appear, disappear or change their width.
 * The bar is centred, so without this each such change moves every button, also between press and release: the press
 * then does nothing.
 * @returns call `aim` for each pointerover in the bar, and `release` when the pointer leaves the bar
 */
export function useStillButton(bar: RefObject<HTMLElement | null>, edge: BarPlace['edge']) {
  // Only along the bar, because across it the bar slides into view.
  const side = edge === 'left' || edge === 'right' ? 'top' : 'left';
  const aimed = useRef<{ button: Element; at: number } | null>(null);
  const shift = useRef(0);
  const shiftBy = (px: number) => {
    shift.current = px;
    bar.current?.style.setProperty('translate', side === 'left' ? `${px}px 0` : `0 ${px}px`);
  };
  useLayoutEffect(() => {
    if (aimed.current === null || !bar.current?.contains(aimed.current.button)) return;
    const { button, at } = aimed.current;
    const now = button.getBoundingClientRect()[side];
    if (now !== at) shiftBy(shift.current + at - now);
  });
  return {
    aim({ target }: PointerEvent) {
      const button = target instanceof Element ? target.closest('button') : null;
      if (button === aimed.current?.button) return;
      aimed.current = button && { button, at: button.getBoundingClientRect()[side] };
    },
    release() {
      aimed.current = null;
      if (shift.current !== 0) shiftBy(0);
    },
  };
}
