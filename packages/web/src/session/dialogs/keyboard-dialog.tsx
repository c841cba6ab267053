import { Button, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import styles from './session.module.css';

const COMBINATIONS = [
  { words: 'Ctrl + Alt + Delete', codes: ['ControlLeft', 'AltLeft', 'Delete'] },
  { words: 'Alt + Tab', codes: ['AltLeft', 'Tab'] },
  { words: 'Alt + F4', codes: ['AltLeft', 'F4'] },
  { words: 'Enter', codes: ['Enter'] },
  { words: 'Backspace', codes: ['Backspace'] },
  { words: 'Tab', codes: ['Tab'] },
  { words: 'Escape', codes: ['Escape'] },
  { words: 'Meta', codes: ['MetaLeft'] },
];

/** Sends text and key combinations that the browser or a touch screen cannot type into the app. */
export function TypeDialog(props: {
  opened: boolean;
  onClose: () => void;
  onText: (text: string) => void;
  onKeys: (codes: string[]) => void;
}) {
  const [text, setText] = useState('');
  const send = () => {
    if (text !== '') props.onText(text);
    setText('');
    props.onClose();
  };
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title="Type into the app">
      <Textarea
        label="Text"
        rows={4}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={styles.cardActions}>
        {COMBINATIONS.map((each) => (
          <Button
            key={each.words}
            size="xs"
            onClick={() => {
              props.onKeys(each.codes);
              props.onClose();
            }}
          >
            {each.words}
          </Button>
        ))}
      </div>
      <div className={styles.cardActions} style={{ justifyContent: 'flex-end', marginTop: 24 }}>
        <Button variant="filled" disabled={text === ''} onClick={send}>
          Type it
        </Button>
      </div>
    </Dialog>
  );
}
