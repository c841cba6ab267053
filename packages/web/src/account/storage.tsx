import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { bytesLabel } from '../components/bytes-labels.ts';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { rich, t } from '../i18n/translate.ts';
import styles from './account.module.css';

/** Space used by a person's files, by app. */
export function Storage() {
  const list = useQuery({
    queryKey: keys.storage,
    queryFn: ({ signal }) => call('storage.readOwn', { signal }),
  });
  const items = list.data?.items;
  if (list.isError) return <Problem error={list.error} retry={() => void list.refetch()} />;
  if (items === undefined) return <Skeleton height={48} radius={14} />;
  if (items.length === 0) {
    return (
      <p className={styles.dim}>{t('You have no files yet. Apps that store files for you appear here.')}</p>
    );
  }
  return (
    <ul className={styles.rows}>
      {items.map((item) => (
        <li key={item.app_id}>
          <div className={styles.rowText}>
            <strong>{item.app_name}</strong>
            <span className={styles.dim}>
              {rich('Last used {time}', { time: <RelativeTime key="time" at={item.last_used_at} /> })}
            </span>
          </div>
          <span className="tabular">{bytesLabel(item.bytes_used)}</span>
        </li>
      ))}
    </ul>
  );
}
