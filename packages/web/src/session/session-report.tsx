import type { Session } from '@footlight/protocol/rest';
import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { saidByServer } from '../api/server-sentences.ts';
import { durationLabel } from '../i18n/duration-labels.ts';
import { t } from '../i18n/translate.ts';
import styles from './session-report.module.css';

/**
 * Window of the report. The service evaluates at most the last ten minutes; a shorter session is evaluated from its
 * start.
 */
const JUDGED_MINUTES = 10;
const JUDGED_MS = JUDGED_MINUTES * 60_000;

/**
 * The report of an ended session: time open, share of smooth seconds, click to picture, the main limit and its remedy. Empty for a
 * session without a picture, or after its samples were deleted.
 */
export function SessionReport({ session }: { session: Session }) {
  const { id, started_at } = session;
  const { data } = useQuery({
    queryKey: keys.sessionVerdict(id),
    queryFn: ({ signal }) =>
      call('sessions.verdict', { params: { id }, query: { from: started_at ?? undefined }, signal }),
    enabled: started_at !== null,
    // Never requested again, because an ended session gets no more samples.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const report = data?.report;
  if (report === undefined) return null;
  const played = report.played_ms;
  const figures: [name: string, value: string | null][] = [
    [t('Time the app was open'), played === null ? null : durationLabel(played)],
    [
      t('Seconds with a smooth picture'),
      report.smooth_fraction === null ? null : percentLabel(report.smooth_fraction),
    ],
    [
      t('Click to picture'),
      report.click_to_photon_ms === null ? null : delayLabel(report.click_to_photon_ms),
    ],
  ];
  return (
    <section className={styles.report} aria-label={t('How it was')}>
      <dl className={styles.figures}>
        {figures.map(
          ([name, value]) =>
            value !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      <div className={styles.label}>
        <h2>{saidByServer(report.limit)}</h2>
        {report.remedy !== null && <p>{saidByServer(report.remedy)}</p>}
        {played !== null && played > JUDGED_MS && (
          <p className={styles.note}>
            {report.smooth_fraction === null && report.click_to_photon_ms === null
              ? t('Judged by the last {n} minutes.', { n: JUDGED_MINUTES })
              : t('Everything except the time the app was open is about the last {n} minutes.', {
                  n: JUDGED_MINUTES,
                })}
          </p>
        )}
      </div>
    </section>
  );
}

/** "97 %"; 100 only if the session had no uneven second. */
function percentLabel(share: number): string {
  return `${Math.floor(share * 100)} %`;
}

const delayLabel = (ms: number): string => `${Math.round(ms)} ms`;
