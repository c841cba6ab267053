import { useCallback, useEffect, useRef, useState } from 'react';
import type { TouchChoice } from './touch-choice.ts';

type TouchKit = typeof import('./touch-kit.ts');

/** Whether fingers can reach this page. */
const isTouched = () => navigator.maxTouchPoints > 0 || matchMedia('(any-pointer: coarse)').matches;

/** What a device with a touch screen adds to a session; its code comes to those alone. */
export interface Touch {
  /** null: no touch screen, or not loaded yet */
  kit: TouchKit | null;
  choice: TouchChoice | null;
  choose: (choice: TouchChoice) => void;
  /** the phone's keyboard types into the app, and covers a part of the page */
  typing: boolean;
  setTyping: (typing: boolean) => void;
  /** opens the phone's keyboard; only in a press, by the browsers' rule */
  type: React.RefObject<(() => void) | null>;
  /** a long press belongs to the app, so the bar has to be reached in another way */
  holds: boolean;
}

export function useTouch(): Touch {
  const [kit, setKit] = useState<TouchKit | null>(null);
  const [choice, setChoice] = useState<TouchChoice | null>(null);
  const [typing, setTyping] = useState(false);
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
      // Fingers are touches of the session then, as the player sends them by itself.
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, []);
  const choose = useCallback(
    (next: TouchChoice) => {
      setChoice(next);
      kit?.keepTouchChoice(next);
    },
    [kit],
  );
  const holds = choice !== null && (choice.mode === 'pad' || choice.gamepad !== null);
  return { kit, choice, choose, typing, setTyping, type, holds };
}
