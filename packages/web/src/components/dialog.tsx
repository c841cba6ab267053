import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';

/**
 * A modal dialog, also above a full-screen picture. The dialog element traps and restores the focus and makes the rest
 * of the page inert. The focus starts on `data-autofocus`, otherwise on the first control.
 */
export function Dialog(props: { opened: boolean; title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const { opened } = props;
  useEffect(() => {
    const element = dialog.current;
    if (!opened || element === null) return;
    const before = document.activeElement;
    element.showModal();
    element.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      element.close();
      // React has already removed the element, so the browser has not restored the focus.
      if (before instanceof HTMLElement && document.activeElement === document.body)
        before.focus({ preventScroll: true });
    };
  }, [opened]);
  if (!opened) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, through the cancel event
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        // A click on the dialog element itself is a click on the backdrop, because the content is in the box inside.
        if (event.target === dialog.current) props.onClose();
      }}
    >
      <div className={styles.dialogBox}>
        <div className={styles.dialogHead}>
          <h2 id={titleId}>{props.title}</h2>
          <ActionIcon aria-label={t('Close')} onClick={props.onClose}>
            <IconX size={20} />
          </ActionIcon>
        </div>
        {props.children}
      </div>
    </dialog>
  );
}
