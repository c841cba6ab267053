import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ApiFailure, call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { clock } from '../clock.ts';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { useAfter } from '../components/use-after.ts';
import { plural, rich, t } from '../i18n/translate.ts';
import { EndDialog } from './end-dialog.tsx';
import styles from './launch.module.css';
import { isStreamed, useEndSession } from './own-sessions.ts';
import { judgeRefusal } from './refusal.ts';

const SECOND_MS = 1_000;
/** How long the page waits for the place of an ended app. Hosts confirm a stop within 10 s. Chosen, not measured. */
const FREED_WITHIN_MS = 30_000;

/**
 * A refused launch. Lists the person's own sessions that prevent the launch, each with an End button. Retries
 * automatically if a slot may become free, and as soon as an app that the person ended here has freed its place.
 * @param trying whether the launch is being retried
 */
export function LaunchRefused(props: {
  error: unknown;
  live: readonly Session[];
  trying: boolean;
  retry: () => void;
}) {
  const { error, live, trying, retry } = props;
  const refusal = judgeRefusal(error instanceof ApiFailure ? error : null, live);
  const [ended, setEnded] = useState<{ id: string; after: unknown } | null>(null);
  // A stopping session still uses its slot. A launch before its end would be refused, and the page would ask for another
  // app to end. A refusal after the wait is another error, which is shown.
  if (ended !== null && ended.after === error)
    return (
      <div className={styles.refused}>
        <FreedPlace sessionId={ended.id} trying={trying} onFree={retry} />
      </div>
    );
  return (
    <div className={styles.refused}>
      <Problem
        error={error}
        {...(refusal.kind === 'tell' ? { retry } : {})}
        {...(refusal.kind === 'elsewhere' ? { action: <ResumeIt id={refusal.sessionId} /> } : {})}
      />
      {refusal.kind === 'wait' && (
        <p className={styles.waiting}>
          {trying ? t('Trying again now …') : <Countdown afterMs={refusal.afterMs} onOver={retry} />}
        </p>
      )}
      {(refusal.kind === 'own' || refusal.kind === 'wait') && refusal.sessions.length > 0 && (
        <section className={styles.ownSessions} aria-label={t('Your open apps')}>
          <h2>
            {refusal.kind === 'wait'
              ? t('You can make room yourself')
              : plural(
                  refusal.sessions.length,
                  'You have {n} open app. End it instead?',
                  'You have {n} open apps. End one of them instead?',
                )}
          </h2>
          <ul>
            {refusal.sessions.map((session) => (
              <OwnSession
                key={session.id}
                session={session}
                onEnded={() => setEnded({ id: session.id, after: error })}
              />
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function ResumeIt({ id }: { id: string }) {
  const navigate = useNavigate();
  return (
    <Button size="xs" onClick={() => void navigate({ to: '/app/session/$id', params: { id } })}>
      {t('Resume it')}
    </Button>
  );
}

/** Waits until the place of an ended session is free and then calls its action once; after a limit, offers a button. */
function FreedPlace(props: { sessionId: string; trying: boolean; onFree: () => void }) {
  const { sessionId: id, onFree } = props;
  const isLate = useAfter(true, FREED_WITHIN_MS);
  const { data } = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => call('sessions.read', { params: { id }, signal }),
    refetchInterval: isLate ? false : SECOND_MS,
  });
  const isFree = data !== undefined && isTerminal(data.session.state);
  const latest = useRef(onFree);
  latest.current = onFree;
  useEffect(() => {
    if (isFree) latest.current();
  }, [isFree]);
  if (isLate && !isFree && !props.trying)
    return (
      <>
        <p role="status">{t('The app has not closed yet, so its place is still in use.')}</p>
        <Button variant="filled" onClick={onFree}>
          {t('Try again')}
        </Button>
      </>
    );
  return (
    <p className={styles.waiting} role="status">
      {isFree || props.trying ? t('Trying again now …') : t('Waiting for the place to become free …')}
    </p>
  );
}

/** Counts down and then calls its action once. */
function Countdown({ afterMs, onOver }: { afterMs: number; onOver: () => void }) {
  const [endsAtMs] = useState(() => clock.monotonicMs() + afterMs);
  const [leftMs, setLeftMs] = useState(afterMs);
  const latest = useRef(onOver);
  latest.current = onOver;
  useEffect(() => {
    const timer = clock.setInterval(() => {
      const left = endsAtMs - clock.monotonicMs();
      setLeftMs(left);
      if (left > 0) return;
      timer.cancel();
      latest.current();
    }, SECOND_MS);
    return () => timer.cancel();
  }, [endsAtMs]);
  const seconds = Math.max(1, Math.ceil(leftMs / SECOND_MS));
  return plural(
    seconds,
    'This page waits with you, and tries again in {n} second.',
    'This page waits with you, and tries again in {n} seconds.',
  );
}

function OwnSession({ session, onEnded }: { session: Session; onEnded: () => void }) {
  const navigate = useNavigate();
  const [confirming, setConfirming] = useState(false);
  const end = useEndSession(onEnded);
  const app = useQuery({
    queryKey: keys.app(session.app_id),
    queryFn: ({ signal }) => call('apps.read', { params: { id: session.app_id }, signal }),
    retry: false,
  });
  const name = app.data?.app.name ?? t('An app');
  return (
    <li>
      <div className={styles.ownText}>
        <strong>{name}</strong>
        <span>{rich('Launched {time}', { time: <RelativeTime key="time" at={session.created_at} /> })}</span>
      </div>
      {isStreamed(session) && (
        <Button
          size="xs"
          aria-label={t('Resume {app}', { app: name })}
          onClick={() => void navigate({ to: '/app/session/$id', params: { id: session.id } })}
        >
          {t('Resume')}
        </Button>
      )}
      <Button
        size="xs"
        color="danger"
        loading={end.isPending || end.isSuccess}
        aria-label={t('End {app}', { app: name })}
        onClick={() => setConfirming(true)}
      >
        {t('End')}
      </Button>
      <EndDialog
        opened={confirming && !end.isSuccess}
        sessionId={session.id}
        app={name}
        end={end}
        onClose={() => setConfirming(false)}
      />
    </li>
  );
}
