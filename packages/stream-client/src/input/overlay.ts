/**
 * Whether an event belongs to the page's own controls. These are elements inside `data-stream-overlay`, which may cover
 * the picture; their clicks and keys are not sent to the session.
 */
export function isPageControl(event: Event): boolean {
  return event.target instanceof Element && event.target.closest('[data-stream-overlay]') !== null;
}
