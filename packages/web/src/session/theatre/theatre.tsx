import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Loader } from '@mantine/core';
import { IconMicrophone } from '@tabler/icons-react';
import { lazy, type RefObject, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { AppPicture } from '../../components/app-picture.tsx';
import { awaitPad } from '../../focus/await-pad.ts';
import { t } from '../../i18n/translate.ts';
import { useKeyboardLayout } from '../../keyboard/use-keyboard-layout.ts';
import { BAR_KEYS, useBar } from '../bar/use-bar.ts';
import { useBarPlace, useUiPreferences } from '../bar/use-bar-place.ts';
import { useShownQuality } from '../bar/use-shown-quality.ts';
import { useFiles } from '../files/use-files.ts';
import { useWindowFit } from '../fit/use-window-fit.ts';
import { hasOwnEnd } from '../own-end.ts';
import styles from '../session.module.css';
import type { StatsLevel } from '../stats/stats-level.ts';
import { useTouch } from '../touch/use-touch.ts';
import type { StreamView } from '../use-stream.ts';
import { chosenVolume } from '../volume-choice.ts';
import { type OpenDialog, TheatreDialogs } from './theatre-dialogs.tsx';
import { HINT_MS, useToast } from './use-toast.ts';

// Loaded with the first picture, so that the launch screen does not wait for the bar.
const loadBar = () => import('../bar/session-bar.tsx');
const SessionBar = lazy(async () => ({ default: (await loadBar()).SessionBar }));
const BarHandle = lazy(async () => ({ default: (await loadBar()).BarHandle }));
const StatsView = lazy(async () => ({ default: (await import('../stats/stats-view.tsx')).StatsView }));
const StreamEndedCard = lazy(() => import('../dialogs/stream-ended-card.tsx'));
const RecordingMark = lazy(async () => ({ default: (await import('./recording-mark.tsx')).RecordingMark }));
const TransfersPanel = lazy(() => import('../files/transfers-panel.tsx'));

/** The app of the session; until its record is loaded, only its id. */
export type ShownApp = Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;

/** The live picture and everything over it: the bar, touch controls, statistics, messages, dialogs. */
export function Theatre(props: {
  app: ShownApp;
  stream: StreamView;
  video: RefObject<HTMLVideoElement | null>;
  surface: RefObject<HTMLDivElement | null>;
  ending: boolean;
  endError: unknown;
  session: Session | undefined;
  /** when the session's record arrived, Unix ms */
  recordAtMs: number;
  onEnd: () => void;
  onRelaunch: (profileId: string | null) => void;
  onLibrary: () => void;
}) {
  const { stream, app, session } = props;
  const { name } = app;
  const { client } = stream;
  const theatre = useRef<HTMLDivElement>(null);
  const [level, setLevel] = useState<StatsLevel>('dot');
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const [inBar, setInBar] = useState({ pointer: false, focus: false });
  const settings = useUiPreferences(session !== undefined);
  const { place, setPlace } = useBarPlace(settings);
  const keyboard = useKeyboardLayout(client, settings);
  const touch = useTouch();
  const { kit } = touch;
  const bar = useBar(theatre, client, { ...place, longPress: !touch.holds });

  // While a control or dialog is in use, no input is sent to the app.
  const away = dialog !== null || inBar.pointer || inBar.focus;
  useEffect(() => client?.setInputEnabled(!away), [client, away]);
  // Runs before the picture is rendered, because the first key already belongs to the app.
  useLayoutEffect(() => {
    if (stream.shown) client?.focus();
  }, [stream.shown, client]);
  useEffect(() => {
    if (!stream.shown) return;
    client?.setVolume(chosenVolume());
    // Browsers allow sound after a gesture, such as the click on the app's tile.
    if (navigator.userActivation?.hasBeenActive) void client?.unmuteAudio();
    bar.reveal(HINT_MS);
  }, [stream.shown, bar.reveal, client]);

  const files = useFiles(client, theatre);
  const shownQuality = useShownQuality(stream);
  const fit = useWindowFit(session, stream, props.surface, dialog !== null || touch.typing);

  const { state } = stream;
  // The app gets the gamepad's input, except while a control of the page has the focus.
  const padOfPage = dialog !== null || inBar.focus || state.kind === 'ended';
  useEffect(() => (padOfPage ? awaitPad(() => client?.focus()) : undefined), [padOfPage, client]);
  const toast = useToast(stream, session, {
    ending: props.ending,
    recordAtMs: props.recordAtMs,
    barAsked: bar.focusAsked > 0,
    touch,
  });
  // Runs after the dialog has closed, because an open dialog traps the focus.
  const hadDialog = useRef(false);
  useEffect(() => {
    if (dialog === null && hadDialog.current) client?.focus();
    hadDialog.current = dialog !== null;
  }, [dialog, client]);
  return (
    <main ref={theatre} className={styles.theatre} data-mantine-color-scheme="dark">
      {/* The surface is shown full screen, so all visible parts must be inside it. */}
      <div
        ref={props.surface}
        className={styles.surface}
        // Controls behind the launch screen cannot be used.
        inert={!stream.shown}
        role="application"
        aria-label={t('{app}. {keys} shows the controls.', { app: name, keys: t(BAR_KEYS) })}
      >
        {/* biome-ignore lint/a11y/useMediaCaption: a live picture of an app has no captions */}
        <video
          ref={props.video}
          className={styles.video}
          tabIndex={-1}
          style={fit.scale === 1 ? {} : { scale: fit.scale }}
        />
        <Suspense fallback={null}>
          <SessionBar
            name={name}
            view={stream}
            microphone={session?.stream.mic ?? false}
            shown={bar.shown && stream.shown}
            focusAsked={bar.focusAsked}
            place={place}
            quality={shownQuality}
            layoutSign={stream.layout === null ? null : stream.layout.layout.slice(0, 3).toUpperCase()}
            level={level}
            onLevel={setLevel}
            onHold={(by, holds) => {
              setInBar((before) => ({ ...before, [by]: holds }));
              bar.hold(by, holds);
            }}
            onKeyboard={() => setDialog('keyboard')}
            onWindows={() => setDialog('windows')}
            onTouch={kit && (() => setDialog('touch'))}
            onType={kit && (() => touch.type.current?.())}
            onFiles={
              files.link === null
                ? null
                : () => void files.open().then((opened) => opened && setDialog('files'))
            }
            onLeave={props.onLibrary}
            onBack={() => client?.focus()}
            onShare={() => setDialog('share')}
            onMore={() => setDialog('more')}
            onEnd={() => setDialog('end')}
          />
          {(place.handle || touch.holds) && stream.shown && !bar.shown && (
            <BarHandle place={place} onReveal={() => bar.reveal(HINT_MS)} />
          )}
        </Suspense>
        {kit !== null && touch.choice !== null && client !== null && stream.shown && (
          <kit.TouchLayer
            client={client}
            input={stream.input}
            layout={stream.layout}
            choice={touch.choice}
            theatre={theatre}
            surface={props.surface}
            video={props.video}
            moving={touch.moving}
            onMoved={() => touch.setMoving(false)}
            onChoice={touch.choose}
            typing={touch.typing}
            onTyping={touch.setTyping}
            type={touch.type}
          />
        )}
        {stream.audio?.microphone === 'on' && (
          <button
            type="button"
            className={styles.micMark}
            data-stream-overlay=""
            onClick={() => void client?.setMicrophone(false)}
          >
            <IconMicrophone size={16} aria-hidden="true" />
            {t('Microphone on')}
            <span className={styles.micOff}>{t('Turn it off')}</span>
          </button>
        )}
        {session?.stream.recording && (
          <Suspense fallback={null}>
            <RecordingMark />
          </Suspense>
        )}
        {level !== 'dot' && (
          <Suspense fallback={null}>
            <StatsView
              history={stream.history}
              level={level}
              targetFps={session?.stream.fps}
              onClose={() => setLevel('dot')}
            />
          </Suspense>
        )}
        {files.transfers.length > 0 && files.files !== null && (
          <Suspense fallback={null}>
            <TransfersPanel transfers={files.transfers} files={files.files} />
          </Suspense>
        )}
        {files.dragged && (
          <p className={styles.toast} data-stream-overlay="">
            {t('Drop the file to send it to the folder Uploads')}
          </p>
        )}
        {toast !== null && (
          <p className={styles.toast} role="status" data-stream-overlay="">
            {toast.busy && <Loader size={16} color="var(--fl-text)" />}
            {toast.label}
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
      <TheatreDialogs
        dialog={dialog}
        onDialog={setDialog}
        fit={fit}
        app={app}
        session={session}
        stream={stream}
        keyboard={keyboard}
        files={files}
        touch={touch}
        place={place}
        onPlace={setPlace}
        ending={props.ending}
        endError={props.endError}
        onEnd={props.onEnd}
        onRelaunch={props.onRelaunch}
      />
    </main>
  );
}
