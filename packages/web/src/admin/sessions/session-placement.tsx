import type { Placement } from '@footlight/protocol/rest';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { passedOverLabel, refusalLines } from './placement-labels.ts';

/** The reasons why a session runs on its host, as stored at the launch; an error if none were stored. */
export const useStoredPlacement = (sessionId: string) =>
  useQuery({
    queryKey: adminKeys.sessionPlacement(sessionId),
    queryFn: ({ signal }) => call('admin.sessions.placement', { params: { id: sessionId }, signal }),
    // The stored reasons never change.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** Every GPU and rung that a launch considered, with the reasons against it. */
export function PlacementFacts({ placement }: { placement: Placement }) {
  const passedOver = passedOverLabel(placement.codec_decision);
  return (
    <dl className={styles.facts}>
      <dt>{t('Could run on')}</dt>
      <dd>
        {placement.candidates.length === 0
          ? t('no GPU')
          : placement.candidates
              .map((gpu) =>
                t('{host} GPU {gpu} ({free} free)', {
                  host: gpu.node_name,
                  gpu: gpu.gpu_index,
                  free: gpu.free_slots,
                }),
              )
              .join(', ')}
      </dd>
      {placement.refusals.length > 0 && (
        <>
          <dt>{t('Could not run on')}</dt>
          <dd>
            {refusalLines(placement.refusals).map((line) => (
              <div key={line}>{line}</div>
            ))}
          </dd>
        </>
      )}
      {passedOver.length > 0 && (
        <>
          <dt>{t('Skipped rungs')}</dt>
          <dd>
            {passedOver.map(({ rungId, label }) => (
              <div key={rungId}>{label}</div>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}
