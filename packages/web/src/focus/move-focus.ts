import { type Direction, directionOf, nextPlace } from './next-place.ts';

/** A link within the page skips what arrows pass anyway, and lies out of sight until it has the focus. */
const FOCUSABLE =
  'a[href]:not([href^="#"]), button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"], [data-tile]:enabled';
/** Fields in which the side arrows move the caret. */
const TEXT_FIELD = 'input:not([type="checkbox"], [type="radio"], [type="range"]), textarea';
/** Controls for which the arrow keys of a keyboard already mean something. */
const OWN_ARROWS = 'select, textarea, input[type="radio"], input[type="range"], video, [role="slider"]';

/**
 * Moves the focus by an arrow key; the handler of `keydown` of a whole page. Controls that use the key themselves keep
 * it, except for a gamepad's, whose events are not the browser's own and have no default action.
 */
export function moveByArrow(event: KeyboardEvent): void {
  const direction = directionOf(event.key);
  if (direction === null || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.shiftKey || (event.isTrusted && keepsArrow(event.target, direction))) return;
  const target = focusFrom(document.activeElement, direction);
  if (target === null) return;
  event.preventDefault();
  target.focus({ preventScroll: true });
  // A held key would leave a smooth scroll far behind the focus.
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

/** The control that an arrow leads to; without a focus, the page's first tile or control. Null for none. */
function focusFrom(focused: Element | null, direction: Direction): HTMLElement | null {
  // An open dialog makes the rest inert.
  const dialogs = document.querySelectorAll<HTMLElement>('dialog[open]');
  const scope = dialogs[dialogs.length - 1] ?? document.body;
  const places = [...scope.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(isReachable);
  const from =
    focused instanceof HTMLElement && focused !== document.body && scope.contains(focused) ? focused : null;
  if (from === null || from.matches('main, dialog')) {
    return places.find((place) => 'tile' in place.dataset) ?? places[0] ?? null;
  }
  const others = places.filter((place) => place !== from);
  // What a list has scrolled out of sight comes before what stands below the list. The header stays in the window, so
  // that it is near to everything; what the page has scrolled out of sight above comes before it.
  const parts = [scrollerOf(from, scope), from.closest('main'), scope];
  // A row of tiles ends; columns of other controls need not have their rows at one height.
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

/** The part of the page that scrolls up and down with an element in it; null: the whole page. */
function scrollerOf(element: Element, scope: Element): Element | null {
  for (let at = element.parentElement; at !== null && at !== scope; at = at.parentElement)
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return null;
}

/** Controls out of the tab order have a key of their own, except tiles, which share one tab stop. */
function isReachable(element: HTMLElement): boolean {
  if (element.tabIndex < 0 && !('tile' in element.dataset)) return false;
  return element.checkVisibility({ visibilityProperty: true }) && element.closest('[inert]') === null;
}
