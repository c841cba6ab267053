import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { clock } from '../../clock.ts';
import { AppPicture } from '../../components/app-picture.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { durationLabel } from '../../i18n/duration-labels.ts';
import { rich, t } from '../../i18n/translate.ts';
import { EndDialog } from '../../launch/end-dialog.tsx';
import { useKeepOpen } from '../../launch/keep-open.ts';
import { lastPicture } from '../../launch/last-picture.ts';
import { isStreamed, useEndSession } from '../../launch/own-sessions.ts';
import styles from '../library.module.css';
import { useAppOf } from '../use-library.ts';

const SECOND_MS = 1_000;

/** The person's live sessions, which are the first part of the library. */
export function LiveSessions({
  sessions,
  apps,
}: {
  sessions: readonly Session[];
  apps: readonly AppListItem[];
}) {
  return (
    <section className={`${styles.section} ${styles.running}`} aria-label={t('Running now')}>
      <h2>{t('Running now')}</h2>
      <div className={styles.live}>
        {sessions.map((session, index) => (
          <LiveCard key={session.id} session={session} apps={apps} first={index === 0} />
        ))}
      </div>
    </section>
  );
}

function LiveCard(props: { session: Session; apps: readonly AppListItem[]; first: boolean }) {
  const { session } = props;
  const navigate = useNavigate();
  const [confirming, setConfirming] = useState(false);
  const end = useEndSession(() => setConfirming(false));
  const keep = useKeepOpen(session.id);
  const app = useAppOf(session.app_id, props.apps) ?? { id: session.app_id, name: t('An app') };
  const stopping = session.state === 'stopping';
  const watchable = isStreamed(session);
  const picture = lastPicture(session.id);
  return (
    <article className={styles.liveCard} aria-label={app.name}>
      {picture === null ? (
        <AppPicture app={app} shape="hero" className={styles.livePicture} />
      ) : (
        <img src={picture} alt="" className={styles.livePicture} />
      )}
      <div className={styles.liveText}>
        <h3>{app.name}</h3>
        <p className={styles.liveState}>
          <StateChip tone={stopping ? 'neutral' : session.state === 'running' ? 'success' : 'info'}>
            {stopping ? t('Ending') : session.state === 'running' ? t('Running') : t('Starting')}
          </StateChip>
          <span>
            {rich('Launched {time}', { time: <RelativeTime key="time" at={session.created_at} /> })}
          </span>
          {!watchable && <span>{t('on a display of its host')}</span>}
        </p>
        {/* Has its space before the host counts down. */}
        <p className={styles.liveIdle}>
          {!stopping &&
            (session.idle_ends_at
              ? rich('Ends in {time} unless you return', {
                  time: <TimeLeft key="time" until={Date.parse(session.idle_ends_at)} />,
                })
              : keep.isSuccess && <span role="status">{t('Stays open. The countdown starts again.')}</span>)}
        </p>
        {keep.isError && <Problem error={keep.error} />}
        <div className={styles.liveActions}>
          {watchable && (
            <Button
              size="xs"
              data-tile=""
              variant={props.first ? 'filled' : 'default'}
              disabled={stopping}
              aria-label={t('Resume {app}', { app: app.name })}
              onClick={() => void navigate({ to: '/app/session/$id', params: { id: session.id } })}
            >
              {t('Resume')}
            </Button>
          )}
          {watchable && !stopping && session.idle_ends_at && (
            <Button
              size="xs"
              loading={keep.isPending}
              aria-label={t('Keep {app} open longer', { app: app.name })}
              onClick={() => keep.mutate()}
            >
              {t('Keep it open longer')}
            </Button>
          )}
          <Button
            size="xs"
            data-tile={watchable ? undefined : ''}
            variant="subtle"
            disabled={stopping}
            aria-label={t('End {app}', { app: app.name })}
            onClick={() => setConfirming(true)}
          >
            {t('End')}
          </Button>
        </div>
      </div>
      <EndDialog
        opened={confirming}
        sessionId={session.id}
        app={app.name}
        end={end}
        onClose={() => setConfirming(false)}
      />
    </article>
  );
}

/** Minutes and seconds until a moment, updated every second. @param until Unix ms */
function TimeLeft({ until }: { until: number }) {
  const [nowMs, setNowMs] = useState(() => clock.nowMs());
  useEffect(() => {
    const timer = clock.setInterval(() => setNowMs(clock.nowMs()), SECOND_MS);
    return () => timer.cancel();
  }, []);
  return (
    <span className="tabular" role="timer">
      {durationLabel(Math.max(0, until - nowMs))}
    </span>
  );
}
