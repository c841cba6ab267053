import { useQuery } from '@tanstack/react-query';
import { call } from '../../../api/client.ts';
import { Skeleton } from '../../../components/skeleton.tsx';
import { t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';
import { adminKeys } from '../admin-query-keys.ts';
import { effectLines, revokedLabel } from './effect-lines.ts';

/** The records and files that a deletion would remove, counted now. */
export const useEffectOf = (id: string) =>
  useQuery({
    queryKey: adminKeys.deletion(id),
    queryFn: ({ signal }) => call('admin.deletions.read', { params: { id }, signal }),
    // Always requested again, because the counts may have changed since the dialog was last open.
    staleTime: 0,
    gcTime: 0,
  });

/**
 * The number of people who lose an app if a grant is removed, as the server counts it now. Shown in the question before
 * the removal.
 */
export function RevokedGrant({ id }: { id: string }) {
  const effect = useEffectOf(id);
  if (effect.isError) return <p>{t('The number of people who lose it could not be counted.')}</p>;
  if (effect.data === undefined) return <Skeleton height={24} radius={8} />;
  return <p>{revokedLabel(effect.data)}</p>;
}

/**
 * What is deleted together with an app, a host or an account, as the server counts it now. Shown in the question before
 * a deletion.
 */
export function DeletionEffects({ id }: { id: string }) {
  const effect = useEffectOf(id);
  if (effect.isError) return <p>{t('The data that is deleted with it could not be counted.')}</p>;
  if (effect.data === undefined) return <Skeleton height={72} radius={8} />;
  const lines = effectLines(effect.data);
  if (lines.length === 0) return <p>{t('Nothing else is deleted.')}</p>;
  return (
    <div>
      <p>{t('This is deleted too:')}</p>
      <ul className={styles.effects}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
