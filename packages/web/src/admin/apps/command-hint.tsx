import { Button } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import { plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { wordsOfLine } from '../frame/text-lines.ts';
import type { AppForm } from './app-form-model.ts';

/** Shown if the command is written on one line as in a shell. Offers to put each word on its own line. */
export function CommandHint({ form }: { form: UseFormReturnType<AppForm> }) {
  const [text, setText] = useState(() => form.getValues().args);
  form.watch('args', ({ value }) => setText(value));
  const words = wordsOfLine(text);
  if (words === null) return null;
  return (
    <p className={styles.note}>
      {t('A single line is the name of a program, here “{text}”.', { text: text.trim() })}{' '}
      <Button size="compact-sm" onClick={() => form.setFieldValue('args', words.join('\n'))}>
        {plural(words.length, 'Make it {n} line', 'Make it {n} lines')}
      </Button>
    </p>
  );
}
