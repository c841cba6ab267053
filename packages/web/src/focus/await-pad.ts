import { connectedPads } from './connected-pads.ts';

/**
 * Lets gamepads move through the page, from the first connected one on. Few people have one, so its code is loaded
 * then.
 * @param onBack called for the back button when nothing is open
 * @returns stops it
 */
export function awaitPad(onBack: () => void): () => void {
  const waiting = new AbortController();
  const { signal } = waiting;
  let loading = false;
  let end = () => {};
  const load = () => {
    if (loading || connectedPads().length === 0) return;
    loading = true;
    void import('./use-pad-and-arrows.ts').then(
      ({ followPadAndArrows }) => {
        if (!signal.aborted) end = followPadAndArrows(onBack);
      },
      // The keyboard still works; the next gamepad tries again.
      () => {
        loading = false;
      },
    );
  };
  window.addEventListener('gamepadconnected', load, { signal });
  load();
  return () => {
    waiting.abort();
    end();
  };
}
