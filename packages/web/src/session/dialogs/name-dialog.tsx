import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { t } from '../../i18n/translate.ts';
import styles from './dialogs.module.css';

/**
 * Asks for the name of a new folder, or for another name of a file or folder. A refusal is shown at the field, with the
 * name that the person typed.
 */
export function NameDialog(props: {
  title: string;
  action: string;
  /** the present name; "": a new folder */
  name: string;
  /** whether the name can have an ending that people rarely want to change, such as .png */
  isFile?: boolean;
  /** Rejects with a message for the person. */
  onName: (name: string) => Promise<void>;
  onClose: () => void;
}) {
  const [name, setName] = useState(props.name);
  const [problem, setProblem] = useState<string | null>(null);
  const [pending, setPending] = useState(false);
  const wanted = name.trim();
  const save = () => {
    if (wanted === '' || pending) return;
    if (name === props.name || wanted === props.name) {
      props.onClose();
      return;
    }
    setPending(true);
    setProblem(null);
    props
      .onName(wanted)
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setPending(false));
  };
  // The answer of the host is shown in this dialog.
  const close = () => {
    if (!pending) props.onClose();
  };
  return (
    <Dialog opened title={props.title} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextInput
          label={t('Name')}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          value={name}
          error={problem}
          errorProps={{ role: 'alert' }}
          onFocus={({ currentTarget: field }) => {
            const dot = props.isFile ? field.value.lastIndexOf('.') : 0;
            field.setSelectionRange(0, dot > 0 ? dot : field.value.length);
          }}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <div className={styles.end}>
          <Button disabled={pending} onClick={close}>
            {t('Cancel')}
          </Button>
          <Button type="submit" variant="filled" disabled={wanted === ''} loading={pending}>
            {props.action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
