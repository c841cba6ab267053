/**
 * Whether an event belongs to the page's own controls: anything inside an element with `data-stream-overlay` may lie
 * on the picture, and its clicks and keys are not the session's.
 */
export function isPageControl(event: Event): boolean {
  return event.target instanceof Element && event.target.closest('[data-stream-overlay]') !== null;
}
