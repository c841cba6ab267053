/**
 * Whether an event belongs to the page's own controls: elements inside `data-stream-overlay` may lie on the picture,
 * and their clicks and keys are not sent to the session.
 */
export function isPageControl(event: Event): boolean {
  return event.target instanceof Element && event.target.closest('[data-stream-overlay]') !== null;
}
