import { useCallback, useEffect, useRef, useState } from 'react';
import type { TouchChoice } from './touch-choice.ts';

type TouchKit = typeof import('./touch-kit.ts');

/** Whether this device has a touch screen. */
const isTouched = () => navigator.maxTouchPoints > 0 || matchMedia('(any-pointer: coarse)').matches;

/** The touch features of a session; their code is loaded only by devices with a touch screen. */
export interface Touch {
  /** null: the device has no touch screen, or the code is not loaded yet */
  kit: TouchKit | null;
  choice: TouchChoice | null;
  choose: (choice: TouchChoice) => void;
  /** whether the phone's keyboard is open for the app and covers a part of the page */
  typing: boolean;
  setTyping: (typing: boolean) => void;
  /** whether the person moves the parts of the on-screen gamepad */
  moving: boolean;
  setMoving: (moving: boolean) => void;
  /** opens the phone's keyboard; browsers allow this only during a press */
  type: React.RefObject<(() => void) | null>;
  /** whether the app gets long presses, so that the bar must be opened in another way */
  holds: boolean;
}

export function useTouch(): Touch {
  const [kit, setKit] = useState<TouchKit | null>(null);
  const [choice, setChoice] = useState<TouchChoice | null>(null);
  const [typing, setTyping] = useState(false);
  const [moving, setMoving] = useState(false);
  const type = useRef<(() => void) | null>(null);
  useEffect(() => {
    if (!isTouched()) return;
    let gone = false;
    import('./touch-kit.ts').then(
      ({ TouchLayer, TouchDialog, readTouchChoice, keepTouchChoice }) => {
        if (gone) return;
        setKit({ TouchLayer, TouchDialog, readTouchChoice, keepTouchChoice });
        setChoice(readTouchChoice());
      },
      // If the code cannot be loaded, the player sends each finger to the session as a touch.
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, []);
  const choose = useCallback(
    (next: TouchChoice) => {
      setChoice(next);
      // Without a gamepad nothing can be moved. A gamepad that is chosen later must not open in this state.
      if (next.gamepad === null) setMoving(false);
      kit?.keepTouchChoice(next);
    },
    [kit],
  );
  const holds = choice !== null && (choice.mode === 'pad' || choice.gamepad !== null);
  return { kit, choice, choose, typing, setTyping, moving, setMoving, type, holds };
}
