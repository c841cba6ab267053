import { Button } from '@mantine/core';
import { Dialog } from '../../components/dialog.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { Choice } from '../dialogs/choice.tsx';
import styles from '../dialogs/dialogs.module.css';
import { PAD_LAYOUTS } from './pad-layouts.ts';
import type { TouchChoice, TouchMode } from './touch-choice.ts';

const MODES: readonly [TouchMode, string][] = [
  ['direct', msg('Direct touch')],
  ['pad', msg('Touch pad')],
];

/** Chooses the touch mode, and the on-screen gamepad. */
export function TouchDialog(props: {
  onClose: () => void;
  choice: TouchChoice;
  /** gamepads that the session accepts; 0: none */
  maxPads: number;
  /** the app has a touch screen */
  touchScreen: boolean;
  onChoice: (choice: TouchChoice) => void;
  /** moves the parts of the gamepad */
  onMove: () => void;
}) {
  const { choice, onChoice } = props;
  const gamepads = [{ name: null, label: msg('None') }, ...PAD_LAYOUTS];
  return (
    <Dialog opened onClose={props.onClose} title={t('Touch')}>
      <h3 className={styles.place}>{t('Fingers on the picture')}</h3>
      <div className={styles.choices}>
        {MODES.map(([mode, label]) => (
          <Choice
            key={mode}
            label={label}
            chosen={choice.mode === mode}
            onChoose={() => onChoice({ ...choice, mode })}
          />
        ))}
      </div>
      <p className={styles.hint}>{labelOf(choice.mode, props.touchScreen)}</p>
      <h3 className={styles.place}>{t('Gamepad on the screen')}</h3>
      <div className={styles.choices}>
        {gamepads.map(({ name, label }) => (
          <Choice
            key={label}
            label={label}
            chosen={choice.gamepad === name}
            disabled={props.maxPads === 0 && name !== null}
            onChoose={() => onChoice({ ...choice, gamepad: name })}
          />
        ))}
      </div>
      {choice.gamepad !== null && (
        <Button fullWidth mt={8} onClick={props.onMove}>
          {t('Move the gamepad')}
        </Button>
      )}
      <p className={styles.hint}>
        {props.maxPads === 0
          ? t(
              'The machine that runs this app does not support gamepads. Your choice is used on machines that do.',
            )
          : t('The app sees it as a gamepad that is plugged in.')}{' '}
        {t('This device stores both choices.')}
      </p>
    </Dialog>
  );
}

function labelOf(mode: TouchMode, touchScreen: boolean): string {
  if (mode === 'pad')
    return t(
      'A finger moves the pointer, a tap clicks, a long press drags. Two fingers scroll; a tap with two fingers is a right click.',
    );
  return touchScreen
    ? t('Every finger touches the app itself, as on a touch screen.')
    : t(
        'A finger touches the app. Two fingers scroll, or enlarge the picture if they move apart; a tap with two fingers is a right click.',
      );
}
