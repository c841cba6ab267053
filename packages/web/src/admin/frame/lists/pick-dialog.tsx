import { Button } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from '../../../components/dialog.tsx';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';
import { adminKeys } from '../admin-query-keys.ts';
import { SearchField } from './paged-list.tsx';

/** An item to pick: its name, and a detail that distinguishes equal names. */
export interface Pick {
  id: string;
  name: string;
  hint: string;
}

/**
 * A dialog to find items by name and pick them. Stays open, so that a person can pick several items.
 * @param props.find returns the matches of the text, best first; "": the first items
 * @param props.taken ids that are already picked
 */
export function PickDialog(props: {
  opened: boolean;
  title: string;
  label: string;
  kind: string;
  action: string;
  find: (text: string, signal: AbortSignal) => Promise<Pick[]>;
  taken: ReadonlySet<string>;
  pending: string | undefined;
  error: unknown;
  onPick: (id: string) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState('');
  const found = useQuery({
    queryKey: adminKeys.picks(props.kind, text),
    queryFn: ({ signal }) => props.find(text, signal),
    enabled: props.opened,
    placeholderData: keepPreviousData,
  });
  return (
    <Dialog opened={props.opened} title={props.title} onClose={props.onClose}>
      <div className={styles.stack}>
        <SearchField label={props.label} value={text} onChange={setText} />
        {found.isError && <Problem error={found.error} />}
        {props.error !== null && props.error !== undefined && <Problem error={props.error} />}
        <ul className={styles.picks} aria-busy={found.isFetching}>
          {found.data === undefined && <Skeleton height={120} radius={8} />}
          {found.data?.length === 0 && <li className={styles.dim}>{t('Nothing by that name.')}</li>}
          {found.data?.map((each) => (
            <li key={each.id}>
              <span className={styles.pickName}>
                {each.name}
                <span className={styles.dim}>{each.hint}</span>
              </span>
              <Button
                size="compact-sm"
                disabled={props.taken.has(each.id)}
                loading={props.pending === each.id}
                aria-label={t('{action} {name}', { action: props.action, name: each.name })}
                onClick={() => props.onPick(each.id)}
              >
                {props.taken.has(each.id) ? t('Has it') : props.action}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
