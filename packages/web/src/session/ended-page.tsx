import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import { Brand } from '../components/brand.tsx';
import { durationWords, RelativeTime } from '../components/relative-time.tsx';
import { endWords } from './end-words.ts';
import styles from './ended-page.module.css';

const SECOND_MS = 1_000;

/** Loaded after the end: the page of a running session has no room for it. Without its file the page has no card. */
const SessionReport = lazy(() =>
  import('./session-report.tsx').then(
    ({ SessionReport: loaded }) => ({ default: loaded }),
    () => ({ default: () => null }),
  ),
);

/** The page after the end: reason, next actions, how it was, technical reason, and the app's log. */
export function EndedPage(props: {
  session: Session;
  app: Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;
  launching: boolean;
  onLaunch: () => void;
  onLibrary: () => void;
}) {
  const { session, app } = props;
  const words = endWords(session);
  const facts = factsOf(session);
  const startedMs = session.started_at === null ? null : Date.parse(session.started_at);
  const ranMs =
    startedMs === null || session.ended_at === null ? null : Date.parse(session.ended_at) - startedMs;
  return (
    <main className={styles.ended}>
      <AppPicture app={app} shape="hero" className={styles.endedPicture} />
      <div className={styles.endedText}>
        <Brand href="/app" />
        <h1>{words.sentence}</h1>
        <p>
          {app.name}
          {ranMs !== null && ranMs >= SECOND_MS && `, open for ${durationWords(ranMs)}`}
          {session.ended_at !== null && (
            <>
              , ended <RelativeTime at={session.ended_at} />
            </>
          )}
          .
        </p>
        <div className={styles.endedActions}>
          <Button variant="filled" loading={props.launching} onClick={props.onLaunch} data-autofocus>
            Launch again
          </Button>
          <Button onClick={props.onLibrary}>Back to the library</Button>
        </div>
        <Suspense fallback={null}>
          <SessionReport session={session} />
        </Suspense>
        {(facts.length > 0 || session.app_log_tail) && (
          <details className={styles.reason}>
            <summary>Technical reason{session.app_log_tail ? ' and log' : ''}</summary>
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
                <pre className={styles.log} tabIndex={0} role="log" aria-label="The app’s last output">
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

function factsOf(session: Session): [string, string][] {
  const all: [string, string | null][] = [
    ['Failure', session.failure_code],
    ['Reason', session.end_reason],
    ['Message', session.error_message],
    ['Last step', session.state_detail],
    ['Session', session.id],
    ['Host', session.host_id],
  ];
  return all.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== '');
}
