import { type Direction, directionOf, nextPlace } from './next-place.ts';

/**
 * Elements that arrow keys can focus. They do not need to reach a skip link, which is out of view until it has the
 * focus.
 */
const FOCUSABLE =
  'a[href]:not([href^="#"]), button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"], [data-tile]:enabled';
/** Fields in which left and right arrow move the caret. */
const TEXT_FIELD = 'input:not([type="checkbox"], [type="radio"], [type="range"]), textarea';
/** Controls that use arrow keys for themselves. */
const OWN_ARROWS = 'select, textarea, input[type="radio"], input[type="range"], video, [role="slider"]';

/**
 * Moves the focus by an arrow key, as the `keydown` handler of a whole page. Controls that use arrow keys themselves
 * keep the key. Events of a gamepad always move the focus, because scripts create these events, so they have no default
 * action in the control.
 */
export function moveByArrow(event: KeyboardEvent): void {
  const direction = directionOf(event.key);
  if (direction === null || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.shiftKey || (event.isTrusted && keepsArrow(event.target, direction))) return;
  const target = focusFrom(document.activeElement, direction);
  if (target === null) return;
  event.preventDefault();
  target.focus({ preventScroll: true });
  // Scrolls without animation while a key is held, because smooth scrolling would be far behind the focus.
  target.scrollIntoView({
    block: 'nearest',
    inline: 'nearest',
    behavior: event.repeat ? 'instant' : 'smooth',
  });
}

/** Whether the focused control needs this arrow key itself. */
function keepsArrow(target: EventTarget | null, direction: Direction): boolean {
  if (!(target instanceof Element)) return false;
  if (target.matches(OWN_ARROWS)) return true;
  const sideways = direction === 'left' || direction === 'right';
  return sideways && target.matches(TEXT_FIELD) && (target as HTMLInputElement).value !== '';
}

/**
 * The control to which an arrow key moves the focus. Without a focus, the page's first tile or control. Null: no
 * control.
 */
function focusFrom(focused: Element | null, direction: Direction): HTMLElement | null {
  // While a dialog is open, the rest of the page is inert.
  const dialogs = document.querySelectorAll<HTMLElement>('dialog[open]');
  const scope = dialogs[dialogs.length - 1] ?? document.body;
  const places = [...scope.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(isReachable);
  const from =
    focused instanceof HTMLElement && focused !== document.body && scope.contains(focused) ? focused : null;
  if (from === null || from.matches('main, dialog')) {
    return places.find((place) => 'tile' in place.dataset) ?? places[0] ?? null;
  }
  const others = places.filter((place) => place !== from);
  // Searches the scrolling part first, so that hidden rows of a list come before controls below the list. The fixed
  // header is near every control, so content that is scrolled out above must come before the header.
  const parts = [scrollerOf(from, scope), from.closest('main'), scope];
  // Left and right stop at the end of a row of tiles. Other controls may be in columns whose rows have different
  // heights.
  const rules = 'tile' in from.dataset ? [false] : [false, true];
  for (const leavesRow of rules)
    for (const part of parts) {
      const inPart = part === null ? [] : others.filter((place) => part.contains(place));
      const boxes = inPart.map((place) => place.getBoundingClientRect());
      const next = inPart[nextPlace(from.getBoundingClientRect(), boxes, direction, leavesRow)];
      if (next !== undefined) return next;
    }
  return null;
}

/** The vertically scrolling part of the page that contains an element; null: the whole page. */
function scrollerOf(element: Element, scope: Element): Element | null {
  for (let at = element.parentElement; at !== null && at !== scope; at = at.parentElement)
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return null;
}

/**
 * Skips controls outside the tab order, which have their own keys. Includes tiles, although all tiles share one tab
 * stop.
 */
function isReachable(element: HTMLElement): boolean {
  if (element.tabIndex < 0 && !('tile' in element.dataset)) return false;
  return element.checkVisibility({ visibilityProperty: true }) && element.closest('[inert]') === null;
}
