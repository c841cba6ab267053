import type { KeyboardLayout } from '@footlight/protocol/input';
import type { InputStatus, StreamClient } from '@footlight/stream-client';
import { IconZoomReset } from '@tabler/icons-react';
import { type RefObject, useCallback } from 'react';
import { t } from '../../i18n/translate.ts';
import { MovePad } from './move-pad.tsx';
import { OnScreenPad } from './on-screen-pad.tsx';
import { PhoneKeyboard } from './phone-keyboard.tsx';
import styles from './touch.module.css';
import type { TouchChoice } from './touch-choice.ts';
import { useFingers } from './use-fingers.ts';

/**
 * Elements over the picture on a device with a touch screen: the touch pad's pointer, the gamepad, and the field for
 * the phone's keyboard.
 */
export function TouchLayer(props: {
  client: StreamClient;
  input: InputStatus | null;
  /** layout of the app's display; null: the host cannot set one */
  layout: KeyboardLayout | null;
  choice: TouchChoice;
  theatre: RefObject<HTMLElement | null>;
  surface: RefObject<HTMLElement | null>;
  video: RefObject<HTMLVideoElement | null>;
  /** whether the person moves the parts of the gamepad */
  moving: boolean;
  onMoved: () => void;
  onChoice: (choice: TouchChoice) => void;
  typing: boolean;
  onTyping: (typing: boolean) => void;
  /** gets the function that opens the keyboard */
  type: RefObject<(() => void) | null>;
}) {
  const { client, input, choice, surface, video } = props;
  const relative = input?.pointer_lock_wanted ?? false;
  const { scale, reset, pointer } = useFingers({
    client,
    surface,
    video,
    mode: choice.mode,
    relative,
    touchScreen: input?.touch_screen ?? false,
  });
  // The picture is shown above the gamepad, because thumbs would cover it.
  const onRoom = useCallback(
    (room: number | null) => {
      if (video.current !== null) video.current.style.height = room === null ? '' : `${room}px`;
    },
    [video],
  );
  return (
    <>
      {choice.mode === 'pad' && !relative && (
        <div ref={pointer} className={styles.pointer} aria-hidden="true" data-stream-overlay="">
          <svg width="20" height="24" viewBox="0 0 20 24" aria-hidden="true">
            <path d="M2 1.5v17l4.6-4.3 3 7.1 3.4-1.4-3-7H16z" fill="#fff" stroke="#000" strokeWidth="1.5" />
          </svg>
        </div>
      )}
      {choice.gamepad !== null && props.moving && (
        <MovePad
          layout={choice.gamepad}
          shift={choice.shift}
          onShift={(shift) => props.onChoice({ ...choice, shift })}
          onDone={props.onMoved}
        />
      )}
      {choice.gamepad !== null && (input?.max_pads ?? 0) > 0 && (
        <OnScreenPad
          client={client}
          layout={choice.gamepad}
          shift={choice.shift}
          hidden={props.moving}
          onRoom={onRoom}
        />
      )}
      {scale > 1 && (
        <button
          type="button"
          className={styles.whole}
          data-stream-overlay=""
          aria-label={t('Show the whole picture')}
          onMouseDown={(event) => event.preventDefault()}
          onClick={reset}
        >
          <IconZoomReset size={20} aria-hidden="true" />
          <span aria-hidden="true">{scale.toFixed(1)}×</span>
        </button>
      )}
      <PhoneKeyboard
        client={client}
        layout={props.layout}
        theatre={props.theatre}
        typing={props.typing}
        onTyping={props.onTyping}
        type={props.type}
      />
    </>
  );
}
