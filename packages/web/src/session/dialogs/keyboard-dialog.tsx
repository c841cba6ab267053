import type { KeyboardLayout } from '@footlight/protocol/input';
import { Button } from '@mantine/core';
import { useId, useState } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { LAYOUTS, namedLayouts, offered } from '../../keyboard/layouts.ts';
import styles from './dialogs.module.css';

const COMBINATIONS = [
  { label: msg('Ctrl + Alt + Delete'), codes: ['ControlLeft', 'AltLeft', 'Delete'] },
  { label: msg('Alt + Tab'), codes: ['AltLeft', 'Tab'] },
  { label: msg('Alt + F4'), codes: ['AltLeft', 'F4'] },
  { label: msg('Enter'), codes: ['Enter'] },
  { label: msg('Backspace'), codes: ['Backspace'] },
  { label: msg('Tab'), codes: ['Tab'] },
  { label: msg('Escape'), codes: ['Escape'] },
  { label: msg('Windows / Meta'), codes: ['MetaLeft'] },
];
/** Value of the choice that uses the layout that the browser reports. */
const DETECTED = '';

/**
 * Chooses the layout of the session's keyboard. Sends text and key combinations to the app that a person cannot type in
 * the browser or on a touch screen.
 */
export default function KeyboardDialog(props: {
  onClose: () => void;
  /** null: this host cannot set a layout */
  inForce: KeyboardLayout | null;
  /** the layout that the browser reports; null: not known yet */
  detected: KeyboardLayout | null;
  /** the person's choice for this device; null: the detected layout is used */
  chosen: KeyboardLayout | null;
  onLayout: (layout: KeyboardLayout | null) => void;
  onText: (text: string) => void;
  onKeys: (codes: string[]) => void;
}) {
  const [text, setText] = useState('');
  const noteId = useId();
  const { chosen, detected, inForce } = props;
  const own = chosen && offered(chosen);
  const found = detected && offered(detected);
  const send = () => {
    if (text !== '') props.onText(text);
    setText('');
    props.onClose();
  };
  return (
    <Dialog opened onClose={props.onClose} title={t('Keyboard')}>
      {inForce !== null && (
        <label className={styles.field}>
          {t('Your keyboard')}
          <select
            value={own === null ? DETECTED : String(LAYOUTS.indexOf(own))}
            aria-describedby={noteId}
            onChange={(event) => {
              const { value } = event.currentTarget;
              const layout = value === DETECTED ? null : LAYOUTS[Number(value)];
              props.onLayout(layout ? { layout: layout.layout, variant: layout.variant } : null);
            }}
          >
            <option value={DETECTED}>
              {found ? t('As detected: {name}', { name: t(found.name) }) : t('As detected')}
            </option>
            {namedLayouts().map(({ index, label }) => (
              <option key={index} value={String(index)}>
                {label}
              </option>
            ))}
          </select>
          <small id={noteId}>
            {t(
              'Choose the layout that is printed on your keys, so that the app gets these characters. This device remembers your choice. It changes nothing in games that read the position of a key instead of its character.',
            )}
          </small>
        </label>
      )}
      <label className={styles.field}>
        {t('Type into the app')}
        <textarea
          rows={4}
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div className={styles.actions}>
        {COMBINATIONS.map((each) => (
          <Button
            key={each.label}
            size="xs"
            onClick={() => {
              props.onKeys(each.codes);
              props.onClose();
            }}
          >
            {t(each.label)}
          </Button>
        ))}
      </div>
      <div className={styles.end}>
        <Button variant="filled" disabled={text === ''} onClick={send}>
          {t('Type it')}
        </Button>
      </div>
    </Dialog>
  );
}
