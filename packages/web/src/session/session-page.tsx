import { isTerminal } from '@footlight/protocol/session-states';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { clock } from '../clock.ts';
import { PageError } from '../components/page-error.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { t } from '../i18n/translate.ts';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { advance, NO_PROGRESS, stepsOf } from '../launch/launch-steps.ts';
import { useRepeatedLaunch } from '../launch/use-launch.ts';
import { useNextLaunch } from '../launch/use-next-launch.ts';
import { rememberLaunch, usualLaunchMs } from '../launch/usual-time.ts';
import { useListedApp } from '../library/use-library.ts';
import { followLaunch, NO_LAUNCH, stageOf } from './launch-view.ts';
import { hasOwnEnd } from './own-end.ts';
import { Theatre } from './theatre/theatre.tsx';
import { usePlainWait } from './use-plain-wait.ts';
import { useSession } from './use-session.ts';
import { useStream } from './use-stream.ts';

const EndedPage = lazy(async () => ({ default: (await import('./ended-page.tsx')).EndedPage }));
const RefusedAgain = lazy(async () => ({ default: (await import('./refused-again.tsx')).RefusedAgain }));

/** One session from its launch to its end: steps, live picture, end page. */
export function SessionPage({ id }: { id: string }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const { query, session, progress, refused } = useSession(id);
  const over = session !== undefined && isTerminal(session.state);
  const video = useRef<HTMLVideoElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const streamed = useStream(session, session !== undefined && !over && session.state !== 'stopping', {
    video,
    surface,
  });
  // Uses the record before the first event arrives.
  const seen = session === undefined ? progress : advance(progress, session);
  const [view, setView] = useState(NO_LAUNCH);
  const plain = usePlainWait(streamed.shown);
  const now = followLaunch(view, {
    session,
    progress: seen,
    stream: streamed,
    framesSinceMs: plain.framesSinceMs,
    insists: plain.insists,
    usualMs: session === undefined ? null : usualLaunchMs(session.app_id, session.host_id),
    nowMs: clock.nowMs(),
  });
  // React renders again at once, before the browser draws anything.
  if (now !== view) setView(now);
  const stream = { ...streamed, shown: now.shown };
  // The app is cached if the person comes from the library. A request here would delay the picture.
  const listed = useListedApp(session?.app_id);
  const appQuery = useQuery({
    queryKey: keys.app(session?.app_id ?? ''),
    queryFn: ({ signal }) => call('apps.read', { params: { id: session?.app_id ?? '' }, signal }),
    enabled: session !== undefined && listed === undefined,
    staleTime: 60_000,
    retry: false,
  });
  const app = listed ?? appQuery.data?.app ?? { id: session?.app_id ?? id, name: t('Your app') };
  usePageTitle(app.name);

  const { launch, refused: launchRefused, start, retry } = useRepeatedLaunch();
  const end = useMutation({
    mutationFn: () => call('sessions.delete', { params: { id } }),
    onSuccess: (answer) => {
      queryClient.setQueryData(keys.session(id), answer);
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
    },
  });
  const { next, launchNext, forget } = useNextLaunch(over, launch.mutate);
  const library = useCallback(() => void navigate({ to: '/app' }), [navigate]);

  const createdMs = session === undefined ? null : Date.parse(session.created_at);
  const [openedMs] = useState(() => clock.nowMs());
  const stage = stageOf(now, stepsOf(seen), { createdMs, openedMs });
  const { measured } = now;
  useEffect(() => {
    if (measured !== null) rememberLaunch(measured.appId, measured.hostId, measured.tookMs);
  }, [measured]);

  // The stream may report the end before the record does, if the event stream hangs on an interrupted path.
  const { refetch } = query;
  const ended = streamed.state.kind === 'ended' && !hasOwnEnd(streamed.state);
  useEffect(() => {
    if (ended) void refetch();
  }, [ended, refetch]);

  if (query.isError && session === undefined)
    return <PageError error={query.error} reset={() => void query.refetch()} />;
  if (refused !== null) return <PageError error={refused} reset={library} />;
  if (over && next !== null) {
    return (
      <main>
        <LaunchStage
          app={app}
          steps={stepsOf(NO_PROGRESS)}
          startedAtMs={launch.submittedAt || openedMs}
          usualMs={null}
          onCancel={library}
          cancelLabel={t('Back to the library')}
        >
          {launchRefused !== null && (
            <Suspense fallback={null}>
              <RefusedAgain error={launchRefused} trying={launch.isPending} retry={retry} />
            </Suspense>
          )}
        </LaunchStage>
      </main>
    );
  }
  if (over) {
    return (
      <Suspense fallback={null}>
        <EndedPage
          session={session}
          app={app}
          endedHere={end.isPending || end.isSuccess}
          launching={launch.isPending}
          refused={launchRefused}
          onLaunch={() => start(app)}
          onRetry={retry}
          onLibrary={library}
        />
      </Suspense>
    );
  }
  return (
    <>
      <Theatre
        app={app}
        stream={stream}
        video={video}
        surface={surface}
        ending={end.isPending || session?.state === 'stopping'}
        endError={end.error}
        session={session}
        recordAtMs={query.dataUpdatedAt}
        onEnd={() => {
          forget();
          end.mutate();
        }}
        onRelaunch={(profileId) => {
          const { id: appId, name } = app;
          launchNext({ id: appId, name, ...(profileId === null ? {} : { profileId }) });
          end.mutate(undefined, { onError: forget });
        }}
        onLibrary={library}
      />
      {session?.state !== 'stopping' && (
        <LaunchStage
          app={app}
          steps={stage.steps}
          startedAtMs={stage.startedAtMs}
          usualMs={stage.usualMs}
          onCancel={stage.cancel === 'leave' ? library : () => end.mutate(undefined, { onSuccess: library })}
          {...(stage.cancel === 'leave' ? { cancelLabel: t('Back to the library') } : {})}
          leaving={stream.shown || hasOwnEnd(stream.state)}
          {...(now.offersPlain ? { onShow: plain.insist } : {})}
        />
      )}
    </>
  );
}
