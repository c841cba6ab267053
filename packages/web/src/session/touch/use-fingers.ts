import type { StreamClient } from '@footlight/stream-client';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { FingerInput } from './finger-input.ts';
import type { TouchMode } from './touch-choice.ts';

/**
 * Reads the fingers on the picture.
 * @returns the picture's scale rounded to tenths, a function that shows the whole picture, and a reference for the
 *   element of the touch pad's pointer
 */
export function useFingers(props: {
  client: StreamClient;
  surface: RefObject<HTMLElement | null>;
  video: RefObject<HTMLVideoElement | null>;
  mode: TouchMode;
  /** the app wants relative motion */
  relative: boolean;
  touchScreen: boolean;
}) {
  const { client, surface, video, mode, relative, touchScreen } = props;
  const [scale, setScale] = useState(1);
  const pointer = useRef<HTMLDivElement>(null);
  const input = useRef<FingerInput | null>(null);
  // An app with a touch screen gets all fingers.
  const reads = mode === 'pad' || !touchScreen;

  useEffect(() => {
    const [area, picture] = [surface.current, video.current];
    if (!reads || area === null || picture === null) return;
    const made = new FingerInput({
      out: client.pointer,
      area,
      picture,
      pointer: () => pointer.current,
      mode,
      relative,
      onScale: (exact) => setScale(Math.round(exact * 10) / 10),
    });
    input.current = made;
    client.setFingers(made);
    made.draw(client.pointerShape);
    const off = client.on('pointer_shape', (shape) => made.draw(shape));
    const observer = new ResizeObserver(() => made.refit());
    observer.observe(area);
    observer.observe(picture);
    return () => {
      observer.disconnect();
      off();
      client.setFingers(null);
      made.dispose();
      input.current = null;
    };
  }, [client, surface, video, mode, relative, reads]);

  const reset = useCallback(() => input.current?.reset(), []);
  return { scale, reset, pointer };
}
