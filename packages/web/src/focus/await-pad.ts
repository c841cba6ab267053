import { connectedPads } from './connected-pads.ts';

/**
 * Lets gamepads move the focus of the page, after the first one is connected. The code for this is loaded only then,
 * because few people have a gamepad.
 * @param onBack called for the back button when nothing is open
 * @returns a function that stops it
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
      // If the code cannot be loaded, the keyboard still works, and the next gamepad tries again.
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
