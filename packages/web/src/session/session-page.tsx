import type { AppListItem, Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Button, Loader } from '@mantine/core';
import { IconMicrophone } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { clock } from '../clock.ts';
import { AppPicture } from '../components/app-picture.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { PageError } from '../components/page-error.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { advance, stepsOf } from '../launch/launch-steps.ts';
import { useLaunch } from '../launch/use-launch.ts';
import { rememberLaunch, usualLaunchMs } from '../launch/usual-time.ts';
import { useListedApp } from '../library/use-library.ts';
import { EndedPage } from './ended-page.tsx';
import { useWindowFit } from './fit/use-window-fit.ts';
import { followLaunch, NO_LAUNCH, stageOf } from './launch-view.ts';
import { RecordingMark } from './recording-mark.tsx';
import styles from './session.module.css';
import { SessionBar } from './session-bar.tsx';
import { type StatsLevel, StatsView } from './stats-view.tsx';
import { SwapDialog, swapWords } from './swap-dialog.tsx';
import { TypeDialog } from './type-dialog.tsx';
import { BAR_KEYS, useBar } from './use-bar.ts';
import { useSession } from './use-session.ts';
import { type StreamView, useStream } from './use-stream.ts';

/** Time to read one line. */
const HINT_MS = 4000;
/** Time to read two lines. */
const SWAP_WORDS_MS = 6000;
/** Time to read two lines. */
const NOTICE_MS = 6000;

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
  // The record counts before the first event arrives.
  const seen = session === undefined ? progress : advance(progress, session);
  const [view, setView] = useState(NO_LAUNCH);
  const now = followLaunch(view, {
    session,
    progress: seen,
    stream: streamed,
    usualMs: session === undefined ? null : usualLaunchMs(session.app_id, session.host_id),
    nowMs: clock.nowMs(),
  });
  // React renders again at once, before anything is drawn.
  if (now !== view) setView(now);
  const stream = { ...streamed, shown: now.shown };
  // Cached when coming from the library; other requests would delay the picture.
  const listed = useListedApp(session?.app_id);
  const appQuery = useQuery({
    queryKey: keys.app(session?.app_id ?? ''),
    queryFn: ({ signal }) => call('apps.read', { params: { id: session?.app_id ?? '' }, signal }),
    enabled: session !== undefined && listed === undefined,
    staleTime: 60_000,
    retry: false,
  });
  const app = listed ?? appQuery.data?.app ?? { id: session?.app_id ?? id, name: 'Your app' };
  usePageTitle(app.name);

  const launch = useLaunch();
  const end = useMutation({
    mutationFn: () => call('sessions.delete', { params: { id } }),
    onSuccess: (answer) => {
      queryClient.setQueryData(keys.session(id), answer);
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
    },
  });
  const library = useCallback(() => void navigate({ to: '/app' }), [navigate]);

  const createdMs = session === undefined ? null : Date.parse(session.created_at);
  const [openedMs] = useState(clock.nowMs);
  const stage = stageOf(now, stepsOf(seen), { createdMs, openedMs });
  const { measured } = now;
  useEffect(() => {
    if (measured !== null) rememberLaunch(measured.appId, measured.hostId, measured.tookMs);
  }, [measured]);

  if (query.isError) return <PageError error={query.error} reset={() => void query.refetch()} />;
  if (refused !== null) return <PageError error={refused} reset={library} />;
  if (over) {
    return (
      <EndedPage
        session={session}
        app={app}
        launching={launch.isPending}
        onLaunch={() => launch.mutate(app, { onError: library })}
        onLibrary={library}
      />
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
        onEnd={() => end.mutate()}
        onLibrary={library}
      />
      {session !== undefined && session.state !== 'stopping' && (
        <LaunchStage
          app={app}
          steps={stage.steps}
          startedAtMs={stage.startedAtMs}
          usualMs={stage.usualMs}
          onCancel={stage.cancel === 'leave' ? library : () => end.mutate(undefined, { onSuccess: library })}
          {...(stage.cancel === 'leave' ? { cancelWords: 'Back to the library' } : {})}
          leaving={stream.shown || hasOwnEnd(stream.state)}
        />
      )}
    </>
  );
}

type ShownApp = Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;

function Theatre(props: {
  app: ShownApp;
  stream: StreamView;
  video: RefObject<HTMLVideoElement | null>;
  surface: RefObject<HTMLDivElement | null>;
  ending: boolean;
  endError: unknown;
  session: Session | undefined;
  onEnd: () => void;
  onLibrary: () => void;
}) {
  const { stream, app, session } = props;
  const detail = session?.state_detail ?? null;
  const { name } = app;
  const { client } = stream;
  const theatre = useRef<HTMLDivElement>(null);
  const [level, setLevel] = useState<StatsLevel>('dot');
  const [dialog, setDialog] = useState<'end' | 'type' | 'swap' | null>(null);
  const [inBar, setInBar] = useState({ pointer: false, focus: false });
  const bar = useBar(theatre, client, () =>
    theatre.current?.querySelector<HTMLElement>('[role=toolbar] button')?.focus(),
  );

  // While a control or dialog is in use, no input goes to the app.
  const away = dialog !== null || inBar.pointer || inBar.focus;
  useEffect(() => client?.setInputEnabled(!away), [client, away]);
  useEffect(() => {
    if (!stream.shown) return;
    client?.focus();
    // Browsers allow sound after a gesture, such as the click that launched.
    if (navigator.userActivation?.hasBeenActive) void client?.unmuteAudio();
    bar.reveal(HINT_MS);
  }, [stream.shown, bar.reveal, client]);

  const swap = useSwapWords(detail);
  const notice = useNotice(stream.notice);
  const fit = useWindowFit(session, stream, props.surface, dialog !== null);

  const { state } = stream;
  const toast = toastOf({
    ending: props.ending && stream.shown,
    reconnecting: !props.ending && state.kind === 'reconnecting',
    swapping: detail === 'swapping',
    swap: props.ending ? null : swap,
    notice,
  });
  const closeDialog = () => setDialog(null);
  // After the dialog closes, because it traps the focus.
  const hadDialog = useRef(false);
  useEffect(() => {
    if (dialog === null && hadDialog.current) client?.focus();
    hadDialog.current = dialog !== null;
  }, [dialog, client]);
  return (
    <div ref={theatre} className={styles.theatre} data-mantine-color-scheme="dark">
      {/* The surface is shown full screen, so all visible parts must be inside it. */}
      <div
        ref={props.surface}
        className={styles.surface}
        role="application"
        aria-label={`${name}. ${BAR_KEYS} shows the controls.`}
      >
        {/* biome-ignore lint/a11y/useMediaCaption: a live picture of an app has no captions */}
        <video
          ref={props.video}
          className={styles.video}
          tabIndex={-1}
          style={fit.scale === 1 ? {} : { scale: fit.scale }}
        />
        <SessionBar
          name={name}
          view={stream}
          microphone={session?.stream.mic ?? false}
          following={fit.following}
          shown={bar.shown && stream.shown}
          level={level}
          onLevel={setLevel}
          onFollow={fit.setFollowing}
          onHold={(by, holds) => {
            setInBar((before) => ({ ...before, [by]: holds }));
            bar.hold(by, holds);
          }}
          onKeyboard={() => setDialog('type')}
          onLeave={props.onLibrary}
          onSwap={() => setDialog('swap')}
          onEnd={() => setDialog('end')}
        />
        {stream.audio?.microphone === 'on' && (
          <button
            type="button"
            className={styles.micMark}
            data-stream-overlay=""
            onClick={() => void client?.setMicrophone(false)}
          >
            <IconMicrophone size={16} aria-hidden="true" />
            Microphone on
            <span className={styles.micOff}>Turn it off</span>
          </button>
        )}
        {session?.stream.recording && <RecordingMark />}
        <StatsView history={stream.history} level={level} />
        {toast !== null && (
          <p className={styles.toast} role="status" data-stream-overlay="">
            {toast.busy && <Loader size={16} color="var(--fl-text)" />}
            {toast.words}
          </p>
        )}
      </div>
      {/* In place of a black screen, until the end page is shown. */}
      {(state.kind === 'ended' || (props.ending && !stream.shown)) && (
        <AppPicture app={app} shape="hero" className={styles.cardPicture} />
      )}
      {state.kind === 'ended' && hasOwnEnd(state) && !props.ending && (
        <StreamEndedCard state={state} onAgain={() => client?.connect()} onLibrary={props.onLibrary} />
      )}
      <ConfirmDialog
        opened={dialog === 'end'}
        title={`End ${name}?`}
        act={`End ${name}`}
        pending={props.ending}
        error={props.endError}
        onConfirm={props.onEnd}
        onClose={closeDialog}
      >
        <p>
          The app is closed. What it has not saved is lost. To keep it open, go back to the library instead.
        </p>
      </ConfirmDialog>
      {session !== undefined && (
        <SwapDialog opened={dialog === 'swap'} sessionId={session.id} appId={app.id} onClose={closeDialog} />
      )}
      <TypeDialog
        opened={dialog === 'type'}
        onClose={closeDialog}
        onText={(text) => client?.sendText(text)}
        onKeys={(codes) => client?.sendKeys(codes)}
      />
    </div>
  );
}

/** The most urgent message at the bottom of the picture. */
function toastOf(now: {
  ending: boolean;
  reconnecting: boolean;
  swapping: boolean;
  swap: string | null;
  notice: string | null;
}): { words: string; busy: boolean } | null {
  if (now.ending) return { words: 'Ending', busy: true };
  if (now.reconnecting) return { words: 'Reconnecting; the app goes on', busy: true };
  if (now.swap !== null) return { words: now.swap, busy: now.swapping };
  return now.notice === null ? null : { words: now.notice, busy: false };
}

/** Progress of a swap; its result is shown for a while. */
function useSwapWords(detail: string | null): string | null {
  const [over, setOver] = useState<string | null>(null);
  useEffect(() => {
    setOver(null);
    if (detail === null || detail === 'swapping') return;
    const timer = clock.setTimeout(() => setOver(detail), SWAP_WORDS_MS);
    return () => timer.cancel();
  }, [detail]);
  return over === detail && detail !== null ? null : swapWords(detail);
}

/** A message of the host, shown for its reading time. */
function useNotice(notice: StreamView['notice']): string | null {
  const [read, setRead] = useState<StreamView['notice']>(null);
  useEffect(() => {
    if (notice === null) return;
    const timer = clock.setTimeout(() => setRead(notice), NOTICE_MS);
    return () => timer.cancel();
  }, [notice]);
  return notice === read ? null : (notice?.text ?? null);
}

type Ended = Extract<StreamView['state'], { kind: 'ended' }>;

/** The session's record reports its end a moment later, with its own page. */
const TOLD_BY_RECORD: ReadonlySet<Ended['reason']> = new Set([
  'session_ended',
  'host_lost',
  'idle_timeout',
  'disconnected',
]);

/** Whether the stream ended and its own end card is shown. */
function hasOwnEnd(state: StreamView['state']): boolean {
  return state.kind === 'ended' && !TOLD_BY_RECORD.has(state.reason);
}

function StreamEndedCard(props: { state: Ended; onAgain: () => void; onLibrary: () => void }) {
  const { reason, code, message } = props.state;
  const [title, advice, act] = STREAM_ENDS[reason] ?? STREAM_ENDS.error;
  return (
    <div className={styles.card} role="alertdialog" aria-label={title}>
      <h2>{title}</h2>
      <p>{advice}</p>
      {(code ?? message) !== null && <code>{[code, message].filter(Boolean).join(' · ')}</code>}
      <div className={styles.cardActions}>
        <Button
          variant="filled"
          autoFocus
          onClick={reason === 'reload' ? () => window.location.reload() : props.onAgain}
        >
          {act}
        </Button>
        <Button onClick={props.onLibrary}>Back to the library</Button>
      </div>
    </div>
  );
}

type EndText = [title: string, advice: string, act: string];
const STREAM_ENDS: Partial<Record<Ended['reason'], EndText>> & { error: EndText } = {
  taken_over: [
    'It moved to another window',
    'The app goes on there. You can bring it back here.',
    'Use it here',
  ],
  codec_unsupported: [
    'This browser cannot play the picture',
    'The app goes on. Another browser, or a current version of this one, can show it.',
    'Try again',
  ],
  reload: ['This page is out of date', 'The server was updated. The app goes on.', 'Reload'],
  refused: ['You cannot watch this session', 'Only the person who launched it can.', 'Try again'],
  error: ['The picture could not be shown', 'The app goes on. Try again in a moment.', 'Try again'],
};
