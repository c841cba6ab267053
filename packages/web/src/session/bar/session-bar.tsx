import type { AudioStatus, InputStatus, Quality } from '@footlight/stream-client';
import { ActionIcon } from '@mantine/core';
import {
  IconAppWindow,
  IconArrowLeft,
  IconArrowsExchange,
  IconAspectRatio,
  IconAspectRatioOff,
  IconDeviceGamepad2,
  IconDots,
  IconFolder,
  IconKeyboard,
  IconMaximize,
  IconMicrophone,
  IconMicrophoneOff,
  IconMinimize,
  IconMouse,
  IconPlayerStop,
  IconVolume,
  IconVolumeOff,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import styles from '../session.module.css';
import { nextLevel, type StatsLevel } from '../stats-level.ts';
import type { StreamView } from '../use-stream.ts';
import type { BarPlace } from './bar-place.ts';

const QUALITY_WORDS = { excellent: 'Excellent', good: 'Good', poor: 'Poor' };

const MIC_REFUSALS: Partial<Record<AudioStatus['microphone'], string>> = {
  denied: 'The browser withheld the microphone; allow it for this page, then turn it on',
  unavailable: 'No microphone can be used here; try again',
};

/** The slim bar over the picture: name, quality, actions. */
export function SessionBar(props: {
  name: string;
  view: StreamView;
  microphone: boolean;
  /** the app follows the window */
  following: boolean;
  shown: boolean;
  place: BarPlace;
  quality: Quality | undefined;
  /** the session's keyboard layout, as two or three letters; null: this host keeps its own */
  layoutSign: string | null;
  level: StatsLevel;
  onLevel: (level: StatsLevel) => void;
  onFollow: (follow: boolean) => void;
  onHold: (by: 'pointer' | 'focus', holds: boolean) => void;
  onKeyboard: () => void;
  onWindows: () => void;
  /** null: this session has no files */
  onFiles: (() => void) | null;
  onPlace: () => void;
  onLeave: () => void;
  onSwap: () => void;
  onEnd: () => void;
}) {
  const { client, audio, input, windows } = props.view;
  const { quality, place, layoutSign } = props;
  const muted = audio?.muted ?? true;
  const micOn = audio?.microphone === 'on';
  return (
    <div className={styles.barPlace} data-stream-overlay="" data-shown={props.shown} data-edge={place.edge}>
      <div
        className={styles.bar}
        data-stream-overlay
        role="toolbar"
        aria-label="Controls"
        // A click does not take the focus: keys go to the app, and the bar hides when the pointer leaves.
        onMouseDown={(event) => event.preventDefault()}
        onPointerEnter={() => props.onHold('pointer', true)}
        onPointerLeave={() => props.onHold('pointer', false)}
        onFocus={() => props.onHold('focus', true)}
        onBlur={() => props.onHold('focus', false)}
      >
        <span className={styles.barName}>{props.name}</span>
        <Act label="Back to the library; the app stays open" onClick={props.onLeave}>
          <IconArrowLeft size={20} />
        </Act>
        <button
          type="button"
          className={styles.quality}
          data-tip={quality?.reason || 'Show measurements'}
          aria-label={`Quality ${quality?.word ?? 'not measured yet'}; show measurements`}
          onClick={() => props.onLevel(nextLevel(props.level))}
        >
          <span className={styles.dot} data-word={quality?.word} aria-hidden="true" />
          <span className={styles.qualityWord}>{quality ? QUALITY_WORDS[quality.word] : 'Measuring'}</span>
          {quality?.reason && <span className={styles.qualityReason}>{quality.reason}</span>}
        </button>
        <Act
          label={muted ? 'Turn the sound on' : 'Turn the sound off'}
          disabled={audio?.available === false}
          onClick={() => (muted ? void client?.unmuteAudio() : client?.muteAudio())}
        >
          {muted ? <IconVolumeOff size={20} /> : <IconVolume size={20} />}
        </Act>
        <Act
          label={layoutSign === null ? 'Type text or keys' : `Keyboard ${layoutSign}; type text or keys`}
          onClick={props.onKeyboard}
        >
          <IconKeyboard size={20} />
          {layoutSign !== null && (
            <span className={styles.layoutSign} aria-hidden="true">
              {layoutSign}
            </span>
          )}
        </Act>
        {windows.length > 1 && (
          <Act label={`Switch between ${windows.length} windows`} onClick={props.onWindows}>
            <IconAppWindow size={20} />
          </Act>
        )}
        {props.onFiles !== null && (
          <Act label="Files" onClick={props.onFiles}>
            <IconFolder size={20} />
          </Act>
        )}
        <Act label="Change the app" onClick={props.onSwap}>
          <IconArrowsExchange size={20} />
        </Act>
        {input?.pointer_lock_wanted && !input.pointer_locked && (
          <Act label="Catch the pointer" onClick={() => void client?.requestPointerLock()}>
            <IconMouse size={20} />
          </Act>
        )}
        {input !== null && input.pads > 0 && (
          <span className={styles.pads} data-tip={padWords(input.pads)}>
            <IconDeviceGamepad2 size={20} aria-hidden="true" />
            <span aria-hidden="true">{input.pads}</span>
            <span className="visually-hidden">{padWords(input.pads)}</span>
          </span>
        )}
        {props.microphone && (
          <Act
            label={
              micOn
                ? 'Turn the microphone off'
                : (MIC_REFUSALS[audio?.microphone ?? 'off'] ?? 'Turn the microphone on')
            }
            onClick={() => void client?.setMicrophone(!micOn)}
          >
            {micOn ? <IconMicrophone size={20} /> : <IconMicrophoneOff size={20} />}
          </Act>
        )}
        <Act
          label={props.following ? 'Give the app its own shape back' : 'Fit the app to this window'}
          onClick={() => props.onFollow(!props.following)}
        >
          {props.following ? <IconAspectRatio size={20} /> : <IconAspectRatioOff size={20} />}
        </Act>
        {/* Some phone browsers can only show videos full screen. */}
        {document.fullscreenEnabled && (
          <Act
            label={input?.fullscreen ? leaveWords(input) : 'Full screen'}
            onClick={() => void client?.toggleFullscreen()}
          >
            {input?.fullscreen ? <IconMinimize size={20} /> : <IconMaximize size={20} />}
          </Act>
        )}
        <Act label="Move this bar" onClick={props.onPlace}>
          <IconDots size={20} />
        </Act>
        <Act label={`End ${props.name}`} danger onClick={props.onEnd}>
          <IconPlayerStop size={20} />
        </Act>
      </div>
    </div>
  );
}

/** Opens the bar from its edge, where a person wants no bar that comes by itself. */
export function BarHandle({ place, onReveal }: { place: BarPlace; onReveal: () => void }) {
  return (
    <button
      type="button"
      className={styles.handle}
      data-edge={place.edge}
      data-stream-overlay=""
      aria-label="Show the controls"
      onMouseDown={(event) => event.preventDefault()}
      onClick={onReveal}
    >
      <span aria-hidden="true">•••</span>
    </button>
  );
}

/** How a person leaves full screen; a locked keyboard gives a short Escape to the app. */
export function leaveWords({ keyboard_locked }: InputStatus): string {
  return keyboard_locked ? 'Leave full screen (hold Esc)' : 'Leave full screen (Esc)';
}

function padWords(pads: number): string {
  return pads === 1 ? 'A gamepad plays' : `${pads} gamepads play`;
}

function Act(props: {
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
