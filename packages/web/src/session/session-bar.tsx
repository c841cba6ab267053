import type { AudioStatus } from '@footlight/stream-client';
import { ActionIcon } from '@mantine/core';
import {
  IconArrowLeft,
  IconArrowsExchange,
  IconAspectRatio,
  IconAspectRatioOff,
  IconDeviceGamepad2,
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
import styles from './session.module.css';
import { nextLevel, type StatsLevel } from './stats-view.tsx';
import type { StreamView } from './use-stream.ts';

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
  level: StatsLevel;
  onLevel: (level: StatsLevel) => void;
  onFollow: (follow: boolean) => void;
  onHold: (by: 'pointer' | 'focus', holds: boolean) => void;
  onKeyboard: () => void;
  onLeave: () => void;
  onSwap: () => void;
  onEnd: () => void;
}) {
  const { client, audio, input, history } = props.view;
  const quality = history.at(-1)?.quality;
  const muted = audio?.muted ?? true;
  const micOn = audio?.microphone === 'on';
  return (
    <div className={styles.barPlace} data-stream-overlay="" data-shown={props.shown}>
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
        </button>
        <Act
          label={muted ? 'Turn the sound on' : 'Turn the sound off'}
          disabled={audio?.available === false}
          onClick={() => (muted ? void client?.unmuteAudio() : client?.muteAudio())}
        >
          {muted ? <IconVolumeOff size={20} /> : <IconVolume size={20} />}
        </Act>
        <Act label="Type text or keys" onClick={props.onKeyboard}>
          <IconKeyboard size={20} />
        </Act>
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
            label={input?.fullscreen ? 'Leave full screen' : 'Full screen'}
            onClick={() => void client?.toggleFullscreen()}
          >
            {input?.fullscreen ? <IconMinimize size={20} /> : <IconMaximize size={20} />}
          </Act>
        )}
        <Act label={`End ${props.name}`} danger onClick={props.onEnd}>
          <IconPlayerStop size={20} />
        </Act>
      </div>
    </div>
  );
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
