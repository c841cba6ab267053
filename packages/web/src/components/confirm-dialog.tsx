import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

/**
 * Asks for confirmation before an action that ends or deletes something. The texts of title and button must name the
 * object and the number. The focus starts on Cancel, so that an accidental Enter does no harm.
 */
export function ConfirmDialog(props: {
  opened: boolean;
  title: string;
  action: string;
  /** the action ends or deletes nothing; the dialog then only asks how to do it */
  harmless?: boolean;
  children: ReactNode;
  pending: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={props.title}>
      <div className={styles.confirmText}>
        {props.children}
        {props.error !== null && props.error !== undefined && <Problem error={props.error} />}
      </div>
      <div className={styles.confirmActions}>
        <Button onClick={props.onClose} data-autofocus>
          {t('Cancel')}
        </Button>
        <Button
          variant="filled"
          {...(props.harmless ? {} : { color: 'danger' })}
          loading={props.pending}
          onClick={props.onConfirm}
        >
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}
