import { Button } from '@mantine/core';
import { Dialog } from '../../components/dialog.tsx';
import { msg, t } from '../../i18n/translate.ts';
import type { BarPlace, Edge } from '../bar/bar-place.ts';
import { BAR_KEYS } from '../bar/use-bar.ts';
import styles from './dialogs.module.css';

const EDGES: readonly [Edge, string][] = [
  ['top', msg('Top')],
  ['bottom', msg('Bottom')],
  ['left', msg('Left')],
  ['right', msg('Right')],
];

/** Chooses the bar's edge, and the way to open the bar. */
export default function BarDialog(props: {
  onClose: () => void;
  place: BarPlace;
  onPlace: (place: BarPlace) => void;
}) {
  const { place } = props;
  return (
    <Dialog opened onClose={props.onClose} title={t('This bar')}>
      <fieldset className={styles.edges} aria-label={t('Edge of the picture')}>
        {EDGES.map(([edge, label]) => (
          <Button
            key={edge}
            aria-pressed={place.edge === edge}
            {...(place.edge === edge ? { variant: 'filled' } : {})}
            onClick={() => props.onPlace({ ...place, edge })}
          >
            {t(label)}
          </Button>
        ))}
      </fieldset>
      <Button
        fullWidth
        aria-pressed={place.handle}
        {...(place.handle ? { variant: 'filled' } : {})}
        onClick={() => props.onPlace({ ...place, handle: !place.handle })}
      >
        {t('A small handle instead')}
      </Button>
      <p className={styles.hint}>
        {t(
          'With a handle, the bar does not open when the pointer rests at the edge. {keys} or a long touch always opens it. Your account stores this choice.',
          { keys: BAR_KEYS },
        )}
      </p>
      <p className={styles.hint}>
        {t('On a gamepad the guide button opens it, or View and Menu held for a second.')}
      </p>
    </Dialog>
  );
}
