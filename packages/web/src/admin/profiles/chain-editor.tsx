import type { StreamProfile } from '@footlight/protocol/rest';
import { ActionIcon, Button, Input, NativeSelect } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconX } from '@tabler/icons-react';
import { type ReactNode, useId, useRef, useState } from 'react';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { moved } from './chain.ts';
import { rungLabel } from './profile-labels.ts';

/** The rungs of a launch profile, in the order in which a launch tries them. */
export function ChainEditor(props: {
  /** all rungs */
  rungs: readonly StreamProfile[];
  /** ids, best first */
  value: string[];
  error: ReactNode;
  onChange: (ids: string[]) => void;
}) {
  const { rungs, value, onChange } = props;
  const [adding, setAdding] = useState('');
  const [announcement, setAnnouncement] = useState('');
  const select = useRef<HTMLSelectElement>(null);
  const titleId = useId();
  const errorId = useId();
  const hasError = props.error !== undefined && props.error !== null;
  const byId = new Map(rungs.map((rung) => [rung.id, rung]));
  const nameOf = (id: string) => byId.get(id)?.display_name ?? id;
  const move = (index: number, by: -1 | 1) => {
    const next = moved(value, index, by);
    const id = value[index];
    if (id === undefined || next[index] === id) return;
    onChange(next);
    setAnnouncement(
      t('{rung} is now number {n} of {total}', { rung: nameOf(id), n: index + by + 1, total: next.length }),
    );
  };
  const remove = (id: string) => {
    onChange(value.filter((each) => each !== id));
    setAnnouncement(t('{rung} was taken out', { rung: nameOf(id) }));
    // Moves the focus, because the focused button was removed with its row.
    select.current?.focus();
  };
  const add = () => {
    if (adding === '') {
      select.current?.focus();
      return;
    }
    onChange([...value, adding]);
    setAnnouncement(t('{rung} is now number {n}, the last', { rung: nameOf(adding), n: value.length + 1 }));
    setAdding('');
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset inside the form's own would be announced twice
    <div className={styles.chainEditor} role="group" aria-labelledby={titleId}>
      <div>
        <Input.Label id={titleId} labelElement="div">
          {t('Chain')}
        </Input.Label>
        <Input.Description>
          {t(
            'Best rung first. A launch takes the first rung that both the host and the device support, or the last H.264 rung if none fits.',
          )}
        </Input.Description>
      </div>
      {value.length > 0 && (
        <ol className={styles.chainRows}>
          {value.map((id, index) => {
            const rung = byId.get(id);
            return (
              <li key={id}>
                <span className={styles.dim}>{index + 1}</span>
                <span className={styles.pickName}>
                  {nameOf(id)}
                  {rung !== undefined && <span className={styles.dim}>{rungLabel(rung)}</span>}
                </span>
                <span className={styles.chainActions}>
                  {/* Not disabled at the ends, because a disabled button loses the focus. */}
                  <ActionIcon
                    aria-label={t('Move {rung} up', { rung: nameOf(id) })}
                    aria-disabled={index === 0}
                    onClick={() => move(index, -1)}
                  >
                    <IconArrowUp size={18} />
                  </ActionIcon>
                  <ActionIcon
                    aria-label={t('Move {rung} down', { rung: nameOf(id) })}
                    aria-disabled={index === value.length - 1}
                    onClick={() => move(index, 1)}
                  >
                    <IconArrowDown size={18} />
                  </ActionIcon>
                  <ActionIcon
                    aria-label={t('Take {rung} out', { rung: nameOf(id) })}
                    onClick={() => remove(id)}
                  >
                    <IconX size={18} />
                  </ActionIcon>
                </span>
              </li>
            );
          })}
        </ol>
      )}
      <div className={styles.chainAdd}>
        <NativeSelect
          ref={select}
          aria-label={t('Rung to add')}
          aria-describedby={hasError ? errorId : undefined}
          data-path="rungs"
          data={[
            { value: '', label: t('Choose a rung to add') },
            ...rungs
              .filter(({ id }) => !value.includes(id))
              .map((rung) => ({ value: rung.id, label: rung.display_name })),
          ]}
          value={adding}
          onChange={(event) => setAdding(event.currentTarget.value)}
        />
        <Button onClick={add}>{t('Add')}</Button>
      </div>
      {hasError && (
        <Input.Error id={errorId} role="alert">
          {props.error}
        </Input.Error>
      )}
      <p className="visually-hidden" role="status">
        {announcement}
      </p>
    </div>
  );
}
