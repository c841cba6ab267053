import type { AppListItem, Session, UiPreferences } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import type { Quality } from '@footlight/stream-client';
import { Loader } from '@mantine/core';
import { IconMicrophone } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, type RefObject, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { clock } from '../clock.ts';
import { AppPicture } from '../components/app-picture.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { PageError } from '../components/page-error.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { useKeyboardLayout } from '../keyboard/use-keyboard-layout.ts';
import { LaunchStage } from '../launch/launch-stage.tsx';
import { advance, stepsOf } from '../launch/launch-steps.ts';
import { useLaunch } from '../launch/use-launch.ts';
import { rememberLaunch, usualLaunchMs } from '../launch/usual-time.ts';
import { useListedApp } from '../library/use-library.ts';
import { type BarPlace, barPlace, withBarPlace } from './bar/bar-place.ts';
import { BarHandle, leaveWords, SessionBar } from './bar/session-bar.tsx';
import { BAR_KEYS, useBar } from './bar/use-bar.ts';
import { useFiles } from './files/use-files.ts';
import { useWindowFit } from './fit/use-window-fit.ts';
import { followLaunch, NO_LAUNCH, PLAIN_OFFERED_MS, PLAIN_SHOWN_MS, stageOf } from './launch-view.ts';
import styles from './session.module.css';
import type { StatsLevel } from './stats-level.ts';
import { swapWords } from './swap-words.ts';
import { useSession } from './use-session.ts';
import { type StreamView, useStream } from './use-stream.ts';

const EndedPage = lazy(async () => ({ default: (await import('./ended-page.tsx')).EndedPage }));
const StatsView = lazy(async () => ({ default: (await import('./stats-view.tsx')).StatsView }));
const StreamEndedCard = lazy(() => import('./dialogs/stream-ended-card.tsx'));
const RecordingMark = lazy(async () => ({ default: (await import('./recording-mark.tsx')).RecordingMark }));
const BarDialog = lazy(() => import('./dialogs/bar-dialog.tsx'));
const FilesDialog = lazy(() => import('./dialogs/files-dialog.tsx'));
const TransfersPanel = lazy(() => import('./files/transfers-panel.tsx'));
const KeyboardDialog = lazy(() => import('./dialogs/keyboard-dialog.tsx'));
const SwapDialog = lazy(() => import('./dialogs/swap-dialog.tsx'));
const WindowsDialog = lazy(() => import('./dialogs/windows-dialog.tsx'));

/** Time to read one line. */
const HINT_MS = 4000;
/** A timer may be a little early against the clock of dates. */
const LATE_MS = 50;
/** Statistics come once a second, each of the second before. */
const SECOND_MS = 1000;
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
      <Suspense fallback={null}>
        <EndedPage
          session={session}
          app={app}
          launching={launch.isPending}
          onLaunch={() => launch.mutate(app, { onError: library })}
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
          {...(now.offersPlain ? { onShow: plain.insist } : {})}
        />
      )}
    </>
  );
}

/** The wait for an app that has frames and has drawn nothing; renders again when the page may decide otherwise. */
function usePlainWait(hasFrames: boolean) {
  const [framesSinceMs, setSince] = useState<number | null>(null);
  const [insists, setInsists] = useState(false);
  const [, setLooks] = useState(0);
  useEffect(() => {
    setSince(hasFrames ? clock.nowMs() : null);
    setInsists(false);
    if (!hasFrames) return;
    const look = () => setLooks((count) => count + 1);
    const timers = [PLAIN_OFFERED_MS, PLAIN_SHOWN_MS].map((ms) => clock.setTimeout(look, ms + LATE_MS));
    return () => {
      for (const timer of timers) timer.cancel();
    };
  }, [hasFrames]);
  return { framesSinceMs, insists, insist: () => setInsists(true) };
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
  const [dialog, setDialog] = useState<'end' | 'keyboard' | 'swap' | 'windows' | 'bar' | 'files' | null>(
    null,
  );
  const [inBar, setInBar] = useState({ pointer: false, focus: false });
  const settings = useUiPreferences(session !== undefined);
  const { place, setPlace } = useBarPlace(settings);
  const keyboard = useKeyboardLayout(client, settings);
  const bar = useBar(theatre, client, place, () =>
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

  const files = useFiles(client, theatre);
  const swap = useSwapWords(detail);
  const notice = useNotice(stream.notice);
  const leaving = useLeaveWords(stream);
  const shownQuality = useShownQuality(stream);
  const fit = useWindowFit(session, stream, props.surface, dialog !== null);

  const { state } = stream;
  const toast = toastOf({
    ending: props.ending && stream.shown,
    reconnecting: !props.ending && state.kind === 'reconnecting',
    swapping: detail === 'swapping',
    swap: props.ending ? null : swap,
    notice: notice ?? leaving,
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
          place={place}
          quality={shownQuality}
          layoutSign={stream.layout === null ? null : stream.layout.layout.slice(0, 3).toUpperCase()}
          level={level}
          onLevel={setLevel}
          onFollow={fit.setFollowing}
          onHold={(by, holds) => {
            setInBar((before) => ({ ...before, [by]: holds }));
            bar.hold(by, holds);
          }}
          onKeyboard={() => setDialog('keyboard')}
          onWindows={() => setDialog('windows')}
          onPlace={() => setDialog('bar')}
          onFiles={
            files.link === null
              ? null
              : () => void files.open().then((opened) => opened && setDialog('files'))
          }
          onLeave={props.onLibrary}
          onSwap={() => setDialog('swap')}
          onEnd={() => setDialog('end')}
        />
        {place.handle && stream.shown && !bar.shown && (
          <BarHandle place={place} onReveal={() => bar.reveal(HINT_MS)} />
        )}
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
        {session?.stream.recording && (
          <Suspense fallback={null}>
            <RecordingMark />
          </Suspense>
        )}
        {level !== 'dot' && (
          <Suspense fallback={null}>
            <StatsView history={stream.history} level={level} />
          </Suspense>
        )}
        {files.transfers.length > 0 && files.files !== null && (
          <Suspense fallback={null}>
            <TransfersPanel transfers={files.transfers} files={files.files} />
          </Suspense>
        )}
        {files.dragged && (
          <p className={styles.toast} data-stream-overlay="">
            Drop it to send it to Uploads
          </p>
        )}
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
      <Suspense fallback={null}>
        {state.kind === 'ended' && hasOwnEnd(state) && !props.ending && (
          <StreamEndedCard state={state} onAgain={() => client?.connect()} onLibrary={props.onLibrary} />
        )}
      </Suspense>
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
      <Suspense fallback={null}>
        {dialog === 'swap' && session !== undefined && (
          <SwapDialog sessionId={session.id} appId={app.id} onClose={closeDialog} />
        )}
        {dialog === 'keyboard' && (
          <KeyboardDialog
            onClose={closeDialog}
            inForce={stream.layout}
            detected={keyboard.detected}
            chosen={keyboard.chosen}
            onLayout={keyboard.choose}
            onText={(text) => client?.sendText(text)}
            onKeys={(codes) => client?.sendKeys(codes)}
          />
        )}
        {dialog === 'windows' && (
          <WindowsDialog
            onClose={closeDialog}
            windows={stream.windows}
            onUse={(id) => client?.setWindow(id)}
          />
        )}
        {dialog === 'files' && files.files !== null && (
          <FilesDialog onClose={closeDialog} files={files.files} maxFileMb={files.link?.maxFileMb ?? 0} />
        )}
        {dialog === 'bar' && <BarDialog onClose={closeDialog} place={place} onPlace={setPlace} />}
      </Suspense>
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

/** The person's settings of the web client; undefined: not loaded, or not to be had. */
function useUiPreferences(enabled: boolean): UiPreferences | undefined {
  return useQuery({
    queryKey: keys.uiPreferences,
    queryFn: ({ signal }) => call('uiPreferences.read', { signal }),
    enabled,
    staleTime: 60_000,
    retry: false,
  }).data;
}

/** Where the bar is; a change is shown at once, and the account remembers it. */
function useBarPlace(settings: UiPreferences | undefined) {
  const queryClient = useQueryClient();
  const { edge, handle } = barPlace(settings);
  const place = useMemo(() => ({ edge, handle }), [edge, handle]);
  const store = useMutation({
    mutationFn: (next: BarPlace) =>
      call('uiPreferences.update', {
        body: { session_overlay: withBarPlace(undefined, next).session_overlay },
      }),
  });
  const setPlace = (next: BarPlace) => {
    queryClient.setQueryData(keys.uiPreferences, withBarPlace(settings, next));
    store.mutate(next);
  };
  return { place, setPlace };
}

/** How to leave full screen, for a while after it was entered; null: not now. */
function useLeaveWords({ input }: StreamView): string | null {
  const fullscreen = input?.fullscreen ?? false;
  const [until, setUntil] = useState(false);
  useEffect(() => {
    setUntil(fullscreen);
    if (!fullscreen) return;
    const timer = clock.setTimeout(() => setUntil(false), HINT_MS);
    return () => timer.cancel();
  }, [fullscreen]);
  return until && input !== null ? leaveWords(input) : null;
}

/** The quality of whole seconds of the app's own picture; undefined: none has passed. */
function useShownQuality({ shown, history }: StreamView): Quality | undefined {
  const [sinceMs, setSinceMs] = useState<number | null>(null);
  useEffect(() => setSinceMs(shown ? clock.nowMs() : null), [shown]);
  const last = history.at(-1);
  const isWhole = sinceMs !== null && last !== undefined && last.ts_unix_ms - sinceMs >= SECOND_MS;
  return isWhole ? last.quality : undefined;
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
