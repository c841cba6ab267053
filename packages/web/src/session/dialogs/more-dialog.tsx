import type { AudioStatus } from '@footlight/stream-client';
import { Button } from '@mantine/core';
import {
  IconAdjustmentsHorizontal,
  IconArrowsExchange,
  IconAspectRatio,
  IconAspectRatioOff,
  IconUsers,
} from '@tabler/icons-react';
import { useId } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { msg, t } from '../../i18n/translate.ts';
import type { BarPlace, Edge } from '../bar/bar-place.ts';
import { BAR_KEYS } from '../bar/use-bar.ts';
import type { WindowFit } from '../fit/use-window-fit.ts';
import { rememberVolume } from '../volume-choice.ts';
import { Choice } from './choice.tsx';
import styles from './dialogs.module.css';

const EDGES: readonly [Edge, string][] = [
  ['top', msg('Top')],
  ['bottom', msg('Bottom')],
  ['left', msg('Left')],
  ['right', msg('Right')],
];

/** The actions that a person seldom needs, the volume, and the place of the bar. */
export default function MoreDialog(props: {
  onClose: () => void;
  /** null: the session has no sound */
  sound: Pick<AudioStatus, 'muted' | 'volume'> | null;
  onVolume: (volume: number) => void;
  fit: WindowFit;
  onSwap: () => void;
  onQuality: () => void;
  onShare: () => void;
  place: BarPlace;
  onPlace: (place: BarPlace) => void;
}) {
  const { sound, fit, place } = props;
  const placeTitle = useId();
  return (
    <Dialog opened onClose={props.onClose} title={t('More')}>
      {sound !== null && (
        <label className={styles.volume}>
          {t('Volume')}
          <input
            type="range"
            min={0}
            max={100}
            value={Math.round(sound.volume * 100)}
            onChange={({ target }) => {
              const volume = target.valueAsNumber / 100;
              rememberVolume(volume);
              props.onVolume(volume);
            }}
          />
          <output>{sound.muted ? t('Off') : `${Math.round(sound.volume * 100)} %`}</output>
        </label>
      )}
      <div className={styles.list}>
        <Button
          justify="flex-start"
          leftSection={<IconArrowsExchange size={20} />}
          data-autofocus
          onClick={props.onSwap}
        >
          {t('Change the app')}
        </Button>
        <Button justify="flex-start" leftSection={<IconUsers size={20} />} onClick={props.onShare}>
          {t('Share with a guest')}
        </Button>
        <Button
          justify="flex-start"
          leftSection={<IconAdjustmentsHorizontal size={20} />}
          onClick={props.onQuality}
        >
          {t('Relaunch with another quality')}
        </Button>
        {fit.possible && (
          <Button
            justify="flex-start"
            leftSection={fit.following ? <IconAspectRatioOff size={20} /> : <IconAspectRatio size={20} />}
            onClick={() => {
              fit.setFollowing(!fit.following);
              props.onClose();
            }}
          >
            {fit.following ? t('Stop fitting the app to this window') : t('Fit the app to this window')}
          </Button>
        )}
      </div>
      <h3 id={placeTitle} className={styles.place}>
        {t('This bar')}
      </h3>
      <fieldset className={styles.edges} aria-labelledby={placeTitle}>
        {EDGES.map(([edge, label]) => (
          <Choice
            key={edge}
            label={label}
            chosen={place.edge === edge}
            onChoose={() => props.onPlace({ ...place, edge })}
          />
        ))}
      </fieldset>
      <div className={styles.choices}>
        <Choice
          label={msg('A small handle instead')}
          chosen={place.handle}
          onChoose={() => props.onPlace({ ...place, handle: !place.handle })}
        />
      </div>
      <p className={styles.hint}>
        {t(
          'With a handle, the bar does not open when the pointer rests at the edge. {keys} or a long touch always opens it. Your account stores this choice.',
          { keys: t(BAR_KEYS) },
        )}
      </p>
      <p className={styles.hint}>
        {t('On a gamepad the guide button opens it, or View and Menu held for a second.')}
      </p>
    </Dialog>
  );
}
