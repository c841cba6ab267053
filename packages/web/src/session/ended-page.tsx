import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { lazy, Suspense, useEffect } from 'react';
import { useUser } from '../api/auth-store.ts';
import { AppPicture } from '../components/app-picture.tsx';
import { Brand } from '../components/brand.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { awaitPad } from '../focus/await-pad.ts';
import { durationLabel } from '../i18n/duration-labels.ts';
import { msg, rich, t } from '../i18n/translate.ts';
import { endLabel } from './end-labels.ts';
import styles from './ended-page.module.css';
import { RefusedAgain } from './refused-again.tsx';

const SECOND_MS = 1_000;
/** Enough of a session's id to tell it from others. Chosen, not measured. */
const ID_DIGITS = 8;

/**
 * Loaded after the end, so that the page of a running session stays small. If the file cannot be loaded, the card is
 * omitted.
 */
const SessionReport = lazy(() =>
  import('./session-report.tsx').then(
    ({ SessionReport: loaded }) => ({ default: loaded }),
    () => ({ default: () => null }),
  ),
);

/** The page after the end: reason, next actions, the session's report, technical reason, and the app's log. */
export function EndedPage(props: {
  session: Session;
  app: Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;
  /** whether the person ended the app on this page */
  endedHere: boolean;
  launching: boolean;
  /** the error of the last relaunch; null: no relaunch was tried, or one is in progress */
  refused: unknown;
  onLaunch: () => void;
  onRetry: () => void;
  onLibrary: () => void;
}) {
  const { session, app } = props;
  const { onLibrary } = props;
  useEffect(() => awaitPad(onLibrary), [onLibrary]);
  const label = endLabel(session, props.endedHere);
  const facts = factsOf(session);
  const startedMs = session.started_at === null ? null : Date.parse(session.started_at);
  const ranMs =
    startedMs === null || session.ended_at === null ? null : Date.parse(session.ended_at) - startedMs;
  return (
    <main className={styles.ended}>
      <AppPicture app={app} shape="hero" className={styles.endedPicture} />
      <div className={styles.endedText}>
        <Brand href="/app" />
        <h1>{t(label.sentence)}</h1>
        <p>
          {session.ended_at === null
            ? app.name
            : rich(
                ranMs !== null && ranMs >= SECOND_MS
                  ? msg('{app}, open for {time}, ended {when}.')
                  : msg('{app}, ended {when}.'),
                {
                  app: app.name,
                  time: durationLabel(ranMs ?? 0),
                  when: <RelativeTime key="when" at={session.ended_at} />,
                },
              )}
        </p>
        {session.state === 'failed' && <Report id={session.id} />}
        <div className={styles.endedActions}>
          <Button variant="filled" loading={props.launching} onClick={props.onLaunch} data-autofocus>
            {t('Launch again')}
          </Button>
          <Button onClick={props.onLibrary}>{t('Back to the library')}</Button>
        </div>
        {props.refused !== null && (
          <RefusedAgain error={props.refused} trying={props.launching} retry={props.onRetry} />
        )}
        <Suspense fallback={null}>
          <SessionReport session={session} />
        </Suspense>
        {(facts.length > 0 || session.app_log_tail) && (
          <details className={styles.reason}>
            <summary>{session.app_log_tail ? t('Technical reason and log') : t('Technical reason')}</summary>
            <div className={styles.reasonBody}>
              <dl className={styles.reasonFacts}>
                {facts.map(([name, value]) => (
                  <div key={name} style={{ display: 'contents' }}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
              {session.app_log_tail && (
                // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which a keyboard must be able to do
                <pre className={styles.log} tabIndex={0} role="log" aria-label={t('The app’s last output')}>
                  {session.app_log_tail}
                </pre>
              )}
            </div>
          </details>
        )}
      </div>
    </main>
  );
}

/** What a person can do about a failure: an administrator opens the session's page, everyone else reports it. */
function Report({ id }: { id: string }) {
  if (useUser()?.role === 'admin')
    return (
      <p>
        <a href={`/admin/sessions/${id}`}>{t('See why on the session’s page')}</a>
      </p>
    );
  return (
    <p>
      {t('If launching it again does not help, tell an administrator. Session: {id}', {
        id: id.slice(0, ID_DIGITS),
      })}
    </p>
  );
}

function factsOf(session: Session): [string, string][] {
  const all: [string, string | null][] = [
    [t('Failure'), session.failure_code],
    [t('Reason'), session.end_reason],
    [t('Message'), session.error_message],
    [t('Last step'), session.state_detail],
    [t('Session'), session.id],
    [t('Host'), session.host_id],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== '');
}
