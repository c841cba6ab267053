import type { Session } from '@footlight/protocol/rest';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { rich, t } from '../../i18n/translate.ts';
import { exactTimeLabel, timeLabel } from '../diagnosis/time-labels.ts';
import pages from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { PlacementFacts, useStoredPlacement } from './session-placement.tsx';
import styles from './session-story.module.css';
import { storyOf, storySteps, whyThere } from './story.ts';

const ICONS = {
  success: IconCircleCheck,
  warning: IconAlertTriangle,
  danger: IconX,
  info: IconInfoCircle,
  neutral: IconCircleCheck,
};
/** Interval of the shown clock, because durations are shown in seconds. */
const TICK_MS = 1_000;
/** The longest window that the service reads. If the first picture came later, it is not found. */
const FIRST_PICTURE_MS = 600_000;

/** Names of the session's app, host and person; undefined while loading, null if the record was deleted. */
export interface SessionNames {
  app: string | null | undefined;
  user: string | null | undefined;
  host: string | null | undefined;
}

/**
 * The story of a session: its state or the reason of its end, its steps, the person who launched it, its app, and why
 * it runs on this host.
 */
export function SessionStory({ session, names }: { session: Session; names: SessionNames }) {
  const nowMs = useSeconds(session.ended_at === null);
  const story = storyOf(session, nowMs);
  const firstPictureMs = useFirstPicture(session);
  const placement = useStoredPlacement(session.id);
  const Icon = ICONS[story.tone];
  return (
    <section className={styles.story} data-tone={story.tone} aria-label={t('The story')}>
      <div className={styles.said}>
        <Icon size={24} aria-hidden="true" />
        <div>
          <p className={styles.sentence}>{story.sentence}</p>
          {session.error_message !== null && <p className={styles.message}>{session.error_message}</p>}
          {story.remedy !== null && <p className={styles.remedy}>{story.remedy}</p>}
        </div>
      </div>
      <ol className={styles.steps}>
        {storySteps(session, firstPictureMs, nowMs).map(({ key, label, atMs, note, state }) => (
          <li key={key} data-state={state} aria-current={state === 'current' ? 'step' : undefined}>
            <span className={styles.stepLabel}>{label}</span>
            <span className={styles.stepNote}>
              {atMs !== null && (
                <time dateTime={new Date(atMs).toISOString()} title={exactTimeLabel(atMs)}>
                  {timeLabel(atMs)}
                </time>
              )}
              {atMs !== null && note !== '' && ', '}
              {note}
            </span>
          </li>
        ))}
      </ol>
      <dl className={pages.facts}>
        <dt>{t('Who')}</dt>
        <dd>
          {names.user === null ? (
            t('a deleted account')
          ) : (
            <Link to="/admin/users/$id" params={{ id: session.user_id }} className={pages.nameLink}>
              {names.user ?? '…'}
            </Link>
          )}
        </dd>
        <dt>{t('What')}</dt>
        <dd>
          {rich('{app}, launched {time}', {
            app:
              names.app === null ? (
                t('a deleted app')
              ) : (
                <Link
                  key="app"
                  to="/admin/apps/$id"
                  params={{ id: session.app_id }}
                  className={pages.nameLink}
                >
                  {names.app ?? '…'}
                </Link>
              ),
            time: <RelativeTime key="time" at={session.created_at} />,
          })}
        </dd>
        <dt>{t('Where')}</dt>
        <dd>
          {placeOf(
            session,
            session.host_id === null || names.host === null ? (
              t('no host any more')
            ) : (
              <Link
                key="host"
                to="/admin/hosts/$id"
                params={{ id: session.host_id }}
                className={pages.nameLink}
              >
                {names.host ?? '…'}
              </Link>
            ),
          )}
        </dd>
        <dt>{t('Why there')}</dt>
        <dd>
          {placement.data === undefined
            ? placement.isPending
              ? '…'
              : t('The decision was not stored.')
            : whyThere(placement.data, session.host_id)}
        </dd>
      </dl>
      {placement.isPending && <div className={styles.foldAhead} />}
      {placement.data !== undefined && (
        <Disclosure label={t('All GPUs and rungs that were considered')}>
          <PlacementFacts placement={placement.data} />
        </Disclosure>
      )}
    </section>
  );
}

/** The host, and the displays that show the picture, except browser pages. */
function placeOf({ video_topology }: Session, host: ReactNode): ReactNode {
  if (video_topology === undefined) return host;
  return video_topology === 'local_only'
    ? rich('{host}, on the display beside it', { host })
    : rich('{host}, on the display beside it and to viewers', { host });
}

/** The current time, ms since 1970, updated every second while `counts` is true. */
function useSeconds(counts: boolean): number {
  const [nowMs, setNowMs] = useState(() => clock.nowMs());
  useEffect(() => {
    if (!counts) return;
    const timer = clock.setInterval(() => setNowMs(clock.nowMs()), TICK_MS);
    return () => timer.cancel();
  }, [counts]);
  return nowMs;
}

/** Time from the launch to the first picture at the viewer, ms; undefined: not known. */
function useFirstPicture(session: Session): number | undefined {
  const fromMs = Date.parse(session.created_at);
  const found = useQuery({
    queryKey: adminKeys.sessionFirstPicture(session.id),
    queryFn: async ({ signal }) => {
      const { events } = await call('admin.sessions.traceEvents', {
        params: { id: session.id },
        query: { from: fromMs, to: fromMs + FIRST_PICTURE_MS, types: 'client.first_frame' },
        signal,
      });
      const since = events[0]?.payload.since_launch_ms;
      // A viewer may report any number, and a number outside the range of dates would crash the page.
      return typeof since === 'number' && since >= 0 && since <= FIRST_PICTURE_MS ? since : null;
    },
    // A value is final once it is found. Until then it is requested every 5 s.
    staleTime: ({ state }) => (state.data == null ? 0 : Number.POSITIVE_INFINITY),
    refetchInterval: ({ state }) => (state.data == null && session.ended_at === null ? 5_000 : false),
    retry: false,
  });
  return found.data ?? undefined;
}
