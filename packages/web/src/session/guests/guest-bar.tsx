import {
  IconAbc,
  IconArrowLeft,
  IconHandFinger,
  IconMaximize,
  IconMinimize,
  IconMouse,
  IconVolume,
  IconVolumeOff,
} from '@tabler/icons-react';
import { useLayoutEffect, useRef } from 'react';
import { t } from '../../i18n/translate.ts';
import { leaveLabel } from '../bar/leave-labels.ts';
import { BarButton, BarHandle } from '../bar/session-bar.tsx';
import { useStillButton } from '../bar/use-still-button.ts';
import styles from '../session.module.css';
import type { StreamView } from '../use-stream.ts';
import { type GuestRights, rightsLabel } from './guest-labels.ts';

/** The bar over a guest's picture: what the guest may do, sound, full screen, leave. */
export function GuestBar(props: {
  guest: GuestRights;
  view: StreamView;
  shown: boolean;
  /** number of times that keys or a pad requested the bar since it was shown */
  focusAsked: number;
  onHold: (by: 'pointer' | 'focus', holds: boolean) => void;
  /** null: the device has no touch screen, or the guest only watches */
  onTouch: (() => void) | null;
  onType: (() => void) | null;
  onBack: () => void;
  onLeave: () => void;
}) {
  const { shown, focusAsked } = props;
  const { client, audio, input } = props.view;
  const muted = audio?.muted ?? true;
  const bar = useRef<HTMLDivElement>(null);
  const still = useStillButton(bar, 'top');
  useLayoutEffect(() => {
    if (shown && focusAsked > 0) bar.current?.querySelector('button')?.focus();
  }, [shown, focusAsked]);
  return (
    <div className={styles.barPlace} data-stream-overlay="" data-shown={shown} data-edge="top">
      <div
        ref={bar}
        className={styles.bar}
        data-stream-overlay
        role="toolbar"
        aria-label={t('Controls')}
        onMouseDown={(event) => event.preventDefault()}
        onPointerEnter={() => props.onHold('pointer', true)}
        onPointerOver={still.aim}
        onPointerLeave={() => {
          still.release();
          props.onHold('pointer', false);
        }}
        onKeyDown={({ key }) => key === 'Escape' && props.onBack()}
        onFocus={() => props.onHold('focus', true)}
        onBlur={() => props.onHold('focus', false)}
      >
        <span className={styles.guestRole}>{rightsLabel(props.guest)}</span>
        <BarButton
          label={muted ? t('Turn the sound on') : t('Turn the sound off')}
          disabled={audio?.available === false}
          onClick={() => (muted ? void client?.unmuteAudio() : client?.muteAudio())}
        >
          {muted ? <IconVolumeOff size={20} /> : <IconVolume size={20} />}
        </BarButton>
        {props.onType !== null && (
          <BarButton label={t('The keyboard of this device')} onClick={props.onType}>
            <IconAbc size={24} />
          </BarButton>
        )}
        {props.onTouch !== null && (
          <BarButton label={t('Touch and gamepad')} onClick={props.onTouch}>
            <IconHandFinger size={20} />
          </BarButton>
        )}
        {props.guest.role === 'full' && input?.pointer_lock_wanted && !input.pointer_locked && (
          <BarButton label={t('Lock the pointer')} onClick={() => void client?.requestPointerLock()}>
            <IconMouse size={20} />
          </BarButton>
        )}
        {document.fullscreenEnabled && (
          <BarButton
            label={input?.fullscreen ? leaveLabel(input) : t('Full screen')}
            onClick={() => void client?.toggleFullscreen()}
          >
            {input?.fullscreen ? <IconMinimize size={20} /> : <IconMaximize size={20} />}
          </BarButton>
        )}
        <BarButton label={t('Leave')} onClick={props.onLeave}>
          <IconArrowLeft size={20} />
        </BarButton>
      </div>
    </div>
  );
}

/** A handle that opens the bar where the app gets long presses. */
export function GuestHandle({ onReveal }: { onReveal: () => void }) {
  return <BarHandle place={{ edge: 'top', handle: true }} onReveal={onReveal} />;
}
