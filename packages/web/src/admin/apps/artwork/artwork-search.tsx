import type { AdminApp } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../api/client.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { t } from '../../../i18n/translate.ts';
import styles from '../../frame/admin-pages.module.css';
import { adminKeys } from '../../frame/admin-query-keys.ts';
import { SearchField } from '../../frame/lists/paged-list.tsx';

/** Searches the provider's titles and applies one of them to the app. */
export function ArtworkSearch(props: {
  app: Pick<AdminApp, 'id' | 'name'>;
  pending: string | undefined;
  error: unknown;
  onPick: (ref: string) => void;
  onClose: () => void;
}) {
  const { app } = props;
  const [text, setText] = useState(app.name);
  const found = useQuery({
    queryKey: adminKeys.artworkCandidates(app.id, text),
    queryFn: ({ signal }) =>
      call('artwork.search', { params: { id: app.id }, body: { query: text }, signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const candidates = found.data?.candidates;
  return (
    <Dialog opened title={t('Pictures for {app}', { app: app.name })} onClose={props.onClose}>
      <div className={styles.stack}>
        <SearchField label={t('Title')} value={text} onChange={setText} />
        {found.isError && <Problem error={found.error} retry={() => void found.refetch()} />}
        {props.error !== null && props.error !== undefined && <Problem error={props.error} />}
        {candidates === undefined && !found.isError && <Skeleton height={160} radius={8} />}
        {candidates?.length === 0 && <p className={styles.dim}>{t('Nothing by that name.')}</p>}
        <ul className={styles.candidates} aria-busy={found.isFetching}>
          {candidates?.map((candidate) => (
            <li key={candidate.ref}>
              {candidate.thumb_data === null ? (
                <span className={styles.thumb} />
              ) : (
                <img className={styles.thumb} src={candidate.thumb_data} alt="" />
              )}
              <span>{candidate.name}</span>
              <Button
                size="compact-sm"
                loading={props.pending === candidate.ref}
                aria-label={t('Take the pictures of {title}', { title: candidate.name })}
                onClick={() => props.onPick(candidate.ref)}
              >
                {t('Take these')}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
