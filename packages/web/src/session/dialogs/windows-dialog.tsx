import type { AppWindow } from '@footlight/protocol/input';
import { Button } from '@mantine/core';
import { Dialog } from '../../components/dialog.tsx';
import { t } from '../../i18n/translate.ts';
import styles from './dialogs.module.css';

/** The app's windows as a list; a press raises a window. */
export default function WindowsDialog(props: {
  onClose: () => void;
  windows: readonly AppWindow[];
  onUse: (id: number) => void;
}) {
  return (
    <Dialog opened onClose={props.onClose} title={t('Windows')}>
      <div className={styles.list}>
        {props.windows.map(({ id, title, active }) => (
          <Button
            key={id}
            justify="flex-start"
            aria-current={active}
            {...(active ? { 'data-autofocus': true, variant: 'filled' } : {})}
            onClick={() => {
              props.onUse(id);
              props.onClose();
            }}
          >
            <span className={styles.title}>{title === '' ? t('A window without a title') : title}</span>
          </Button>
        ))}
      </div>
    </Dialog>
  );
}
