import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { passedOverWords, refusalWords } from './placement-words.ts';

/** Why a session runs on its host, and with its codec; empty without a stored explanation. */
export function SessionPlacement({ sessionId }: { sessionId: string }) {
  const { data } = useQuery({
    queryKey: adminKeys.sessionPlacement(sessionId),
    queryFn: ({ signal }) => call('admin.sessions.placement', { params: { id: sessionId }, signal }),
    // Stored with the session and never changed.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (data === undefined) return null;
  const passedOver = passedOverWords(data.codec_decision);
  return (
    <dl className={styles.facts}>
      <dt>Could run on</dt>
      <dd>
        {data.candidates
          .map((gpu) => `${gpu.node_name} GPU ${gpu.gpu_index} (${gpu.free_slots} free)`)
          .join(', ')}
      </dd>
      {data.refusals.length > 0 && (
        <>
          <dt>Could not run on</dt>
          <dd>
            {data.refusals.map((refusal) => (
              <div key={`${refusal.host_id} ${refusal.gpu_id}`}>{refusalWords(refusal)}</div>
            ))}
          </dd>
        </>
      )}
      {passedOver.length > 0 && (
        <>
          <dt>Passed over</dt>
          <dd>
            {passedOver.map(({ rungId, words }) => (
              <div key={rungId}>{words}</div>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}
