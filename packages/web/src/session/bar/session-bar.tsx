import type { AudioStatus, Quality } from '@footlight/stream-client';
import { ActionIcon } from '@mantine/core';
import {
  IconAbc,
  IconAppWindow,
  IconArrowLeft,
  IconDeviceGamepad2,
  IconDots,
  IconFolder,
  IconHandFinger,
  IconKeyboard,
  IconMaximize,
  IconMicrophone,
  IconMicrophoneOff,
  IconMinimize,
  IconMouse,
  IconPlayerStop,
  IconUsers,
  IconVolume,
  IconVolumeOff,
} from '@tabler/icons-react';
import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { msg, plural, t } from '../../i18n/translate.ts';
import { watchingLabel } from '../guests/guest-labels.ts';
import { causeLabel, QUALITY_LABELS } from '../quality-labels.ts';
import styles from '../session.module.css';
import { nextLevel, type StatsLevel } from '../stats/stats-level.ts';
import type { StreamView } from '../use-stream.ts';
import type { BarPlace } from './bar-place.ts';
import { leaveLabel } from './leave-labels.ts';
import { useStillButton } from './use-still-button.ts';

const MIC_REFUSALS: Partial<Record<AudioStatus['microphone'], string>> = {
  denied: msg('The browser blocks the microphone; allow it for this page, then turn it on'),
  unavailable: msg('No microphone can be used here; try again'),
};
const MIC_ON = msg('Turn the microphone on');

/** The narrow bar over the picture: name, quality, actions. */
export function SessionBar(props: {
  name: string;
  view: StreamView;
  microphone: boolean;
  shown: boolean;
  /** number of times that keys or a pad requested the bar since it was shown */
  focusAsked: number;
  place: BarPlace;
  quality: Quality | undefined;
  /** the session's keyboard layout, as two or three letters; null: this host cannot set one */
  layoutSign: string | null;
  level: StatsLevel;
  onLevel: (level: StatsLevel) => void;
  onHold: (by: 'pointer' | 'focus', holds: boolean) => void;
  onKeyboard: () => void;
  onWindows: () => void;
  /** null: this session has no file transfer */
  onFiles: (() => void) | null;
  /** null: the device has no touch screen */
  onTouch: (() => void) | null;
  onType: (() => void) | null;
  onLeave: () => void;
  /** moves the focus back to the picture */
  onBack: () => void;
  /** opens the dialog about guests */
  onShare: () => void;
  onMore: () => void;
  onEnd: () => void;
}) {
  const { client, audio, input, windows, guests } = props.view;
  const { quality, place, layoutSign } = props;
  // The statistics give the reason as well.
  const reason = props.level === 'dot' ? causeLabel(quality?.cause ?? null) : '';
  const muted = audio?.muted ?? true;
  const micOn = audio?.microphone === 'on';
  const bar = useRef<HTMLDivElement>(null);
  const still = useStillButton(bar, place.edge);
  const { shown, focusAsked } = props;
  // Focuses the bar only after it is shown, because a hidden element cannot get the focus. The file of the bar may be
  // loaded after the key press.
  useLayoutEffect(() => {
    if (shown && focusAsked > 0) bar.current?.querySelector('button')?.focus();
  }, [shown, focusAsked]);
  const hasFocus = useRef(false);
  const holdFocus = (holds: boolean) => {
    hasFocus.current = holds;
    props.onHold('focus', holds);
  };
  // React has no event for the removal of a focused button. Without this effect the app would get no more input.
  useLayoutEffect(() => {
    if (!hasFocus.current || bar.current?.contains(document.activeElement)) return;
    holdFocus(false);
    props.onBack();
  });
  return (
    <div className={styles.barPlace} data-stream-overlay="" data-shown={shown} data-edge={place.edge}>
      <div
        ref={bar}
        className={styles.bar}
        data-stream-overlay
        role="toolbar"
        aria-label={t('Controls')}
        // A click must not move the focus: keys are still sent to the app, and the bar hides when the pointer leaves.
        onMouseDown={(event) => event.preventDefault()}
        onPointerEnter={() => props.onHold('pointer', true)}
        onPointerOver={still.aim}
        onPointerLeave={() => {
          still.release();
          props.onHold('pointer', false);
        }}
        onKeyDown={({ key }) => key === 'Escape' && props.onBack()}
        onFocus={() => holdFocus(true)}
        onBlur={() => holdFocus(false)}
      >
        <span className={styles.barName}>{props.name}</span>
        <BarButton label={t('Back to the library; the app stays open')} onClick={props.onLeave}>
          <IconArrowLeft size={20} />
        </BarButton>
        <button
          type="button"
          className={styles.quality}
          data-tip={reason || t('Show measurements')}
          aria-label={t('Quality {word}; show measurements', {
            word: quality ? t(QUALITY_LABELS[quality.word]) : t('not measured yet'),
          })}
          onClick={() => props.onLevel(nextLevel(props.level))}
        >
          <span className={styles.dot} data-quality={quality?.word} aria-hidden="true" />
          <span className={styles.qualityWord}>
            {quality ? t(QUALITY_LABELS[quality.word]) : t('Measuring')}
          </span>
          {reason !== '' && <span className={styles.qualityReason}>{reason}</span>}
        </button>
        <BarButton
          label={muted ? t('Turn the sound on') : t('Turn the sound off')}
          disabled={audio?.available === false}
          onClick={() => (muted ? void client?.unmuteAudio() : client?.muteAudio())}
        >
          {muted ? <IconVolumeOff size={20} /> : <IconVolume size={20} />}
        </BarButton>
        <BarButton
          label={
            layoutSign === null
              ? t('Type text or keys')
              : t('Keyboard {sign}; type text or keys', { sign: layoutSign })
          }
          onClick={props.onKeyboard}
        >
          <IconKeyboard size={20} />
          {layoutSign !== null && (
            <span className={styles.layoutSign} aria-hidden="true">
              {layoutSign}
            </span>
          )}
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
        {windows.length > 1 && (
          <BarButton
            label={plural(windows.length, 'Switch to another window', 'Switch between {n} windows')}
            onClick={props.onWindows}
          >
            <IconAppWindow size={20} />
          </BarButton>
        )}
        {props.onFiles !== null && (
          <BarButton label={t('Files')} onClick={props.onFiles}>
            <IconFolder size={20} />
          </BarButton>
        )}
        {input?.pointer_lock_wanted && !input.pointer_locked && (
          <BarButton label={t('Lock the pointer')} onClick={() => void client?.requestPointerLock()}>
            <IconMouse size={20} />
          </BarButton>
        )}
        {input !== null && input.pads > 0 && (
          <span className={styles.pads} data-tip={padLabel(input.pads)}>
            <IconDeviceGamepad2 size={20} aria-hidden="true" />
            <span aria-hidden="true">{input.pads}</span>
            <span className="visually-hidden">{padLabel(input.pads)}</span>
          </span>
        )}
        {props.microphone && (
          <BarButton
            label={
              micOn ? t('Turn the microphone off') : t(MIC_REFUSALS[audio?.microphone ?? 'off'] ?? MIC_ON)
            }
            onClick={() => void client?.setMicrophone(!micOn)}
          >
            {micOn ? <IconMicrophone size={20} /> : <IconMicrophoneOff size={20} />}
          </BarButton>
        )}
        {guests.length > 0 && (
          <button
            type="button"
            className={styles.guests}
            data-tip={t('Guests')}
            aria-label={t('{who}; show the guests', { who: watchingLabel(guests) })}
            onClick={props.onShare}
          >
            <IconUsers size={20} aria-hidden="true" />
            <span className={styles.guestNames}>{watchingLabel(guests)}</span>
            <span className={styles.guestCount}>{guests.length}</span>
          </button>
        )}
        {/* Some phone browsers can only show videos full screen. */}
        {document.fullscreenEnabled && (
          <BarButton
            label={input?.fullscreen ? leaveLabel(input) : t('Full screen')}
            onClick={() => void client?.toggleFullscreen()}
          >
            {input?.fullscreen ? <IconMinimize size={20} /> : <IconMaximize size={20} />}
          </BarButton>
        )}
        <BarButton label={t('More')} onClick={props.onMore}>
          <IconDots size={20} />
        </BarButton>
        <BarButton label={t('End {app}', { app: props.name })} danger onClick={props.onEnd}>
          <IconPlayerStop size={20} />
        </BarButton>
      </div>
    </div>
  );
}

/** A handle that opens the bar at its edge, for a person who does not want the bar to open automatically. */
export function BarHandle({ place, onReveal }: { place: BarPlace; onReveal: () => void }) {
  return (
    <button
      type="button"
      className={styles.handle}
      data-edge={place.edge}
      data-stream-overlay=""
      aria-label={t('Show the controls')}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onReveal}
    >
      <span aria-hidden="true">•••</span>
    </button>
  );
}

function padLabel(pads: number): string {
  return plural(pads, 'A gamepad is used', '{n} gamepads are used');
}

export function BarButton(props: {
  label: string;
  onClick: () => void;
  children: ReactNode;
  disabled?: boolean;
  danger?: boolean;
}) {
  return (
    <ActionIcon
      aria-label={props.label}
      data-tip={props.label}
      onClick={props.onClick}
      disabled={props.disabled ?? false}
      {...(props.danger ? { color: 'danger' } : {})}
    >
      {props.children}
    </ActionIcon>
  );
}
