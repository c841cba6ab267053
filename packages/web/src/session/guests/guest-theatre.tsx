import type { Success } from '@footlight/protocol/rest';
import { Button, Loader } from '@mantine/core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { awaitPad } from '../../focus/await-pad.ts';
import { msg, t } from '../../i18n/translate.ts';
import type { Player } from '../../launch/player.ts';
import { BAR_KEYS, useBar } from '../bar/use-bar.ts';
import { useReconnectLabel } from '../reconnect/use-reconnect-labels.ts';
import styles from '../session.module.css';
import { RecordingMark } from '../theatre/recording-mark.tsx';
import { HINT_MS } from '../theatre/use-toast.ts';
import { useTouch } from '../touch/use-touch.ts';
import { type StreamView, usePlayer } from '../use-stream.ts';
import { chosenVolume } from '../volume-choice.ts';
import { GuestBar, GuestHandle } from './guest-bar.tsx';
import { guestTicket } from './guest-ticket.ts';

type Ended = Extract<StreamView['state'], { kind: 'ended' }>;

/** A guest cannot move the bar. */
const PLACE = { edge: 'top', handle: false } as const;

/** The live picture of a guest, with a bar of the few things that guests can do. */
export function GuestTheatre(props: {
  secret: string;
  name: string;
  /** the answer with which the guest joined; its token is used for the first connection */
  first: Success<'guests.join'>;
  onLeft: () => void;
}) {
  const { secret, name, first } = props;
  const { role } = first.guest;
  const video = useRef<HTMLVideoElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const theatre = useRef<HTMLElement>(null);
  const source = useMemo(() => {
    let unused: Success<'guests.join'> | null = first;
    return {
      key: first.guest.id,
      options: (player: Player) => ({
        connectSignaling: async (signal: AbortSignal) => {
          const taken = unused;
          unused = null;
          return taken?.signaling ?? guestTicket(player, secret, name, signal);
        },
      }),
    };
  }, [first, secret, name]);
  const stream = usePlayer(
    source,
    useMemo(() => ({ video, surface }), []),
  );
  const { client, state, shown, ownerWatches } = stream;
  const touch = useTouch();
  const [touchDialog, setTouchDialog] = useState(false);
  const [inBar, setInBar] = useState({ pointer: false, focus: false });
  const controls = role !== 'watch';
  const kit = controls ? touch.kit : null;
  const bar = useBar(theatre, client, { ...PLACE, longPress: !(controls && touch.holds) });

  const away = touchDialog || inBar.pointer || inBar.focus || !controls;
  useEffect(() => client?.setInputEnabled(!away), [client, away]);
  useLayoutEffect(() => {
    if (shown && controls) client?.focus();
  }, [shown, controls, client]);
  useEffect(() => {
    if (!shown) return;
    client?.setVolume(chosenVolume());
    // The press on "Join" allows sound.
    if (navigator.userActivation?.hasBeenActive) void client?.unmuteAudio();
    bar.reveal(HINT_MS);
  }, [shown, bar.reveal, client]);
  const padOfPage = touchDialog || inBar.focus || state.kind === 'ended';
  useEffect(() => (padOfPage ? awaitPad(() => client?.focus()) : undefined), [padOfPage, client]);
  const reconnecting = useReconnectLabel(state, undefined, 0);

  return (
    <main ref={theatre} className={styles.theatre} data-mantine-color-scheme="dark">
      <div
        ref={surface}
        className={styles.surface}
        inert={!shown}
        role="application"
        aria-label={t('{app}. {keys} shows the controls.', { app: t('A shared app'), keys: t(BAR_KEYS) })}
      >
        {/* biome-ignore lint/a11y/useMediaCaption: a live picture of an app has no captions */}
        <video ref={video} className={styles.video} tabIndex={-1} />
        <GuestBar
          guest={first.guest}
          view={stream}
          shown={bar.shown && shown && state.kind !== 'ended'}
          focusAsked={bar.focusAsked}
          onHold={(by, holds) => {
            setInBar((before) => ({ ...before, [by]: holds }));
            bar.hold(by, holds);
          }}
          onTouch={kit && (() => setTouchDialog(true))}
          onType={role === 'full' && kit !== null ? () => touch.type.current?.() : null}
          onBack={() => client?.focus()}
          onLeave={() => client?.disconnect()}
        />
        {controls && touch.holds && shown && !bar.shown && (
          <GuestHandle onReveal={() => bar.reveal(HINT_MS)} />
        )}
        {kit !== null && touch.choice !== null && client !== null && shown && (
          <kit.TouchLayer
            client={client}
            input={stream.input}
            layout={stream.layout}
            choice={touch.choice}
            theatre={theatre}
            surface={surface}
            video={video}
            moving={touch.moving}
            onMoved={() => touch.setMoving(false)}
            onChoice={touch.choose}
            typing={touch.typing}
            onTyping={touch.setTyping}
            type={touch.type}
          />
        )}
        {client?.ready?.stream.recording === true && <RecordingMark />}
        {shown && state.kind !== 'ended' && (reconnecting !== null || !ownerWatches) && (
          <p className={styles.toast} role="status" data-stream-overlay="">
            {reconnecting !== null && <Loader size={16} color="var(--fl-text)" />}
            {reconnecting ?? t(OWNER_AWAY)}
          </p>
        )}
      </div>
      {!shown && state.kind !== 'ended' && (
        <div className={styles.card} role="status">
          <h2>{t('Joining')}</h2>
          <p>{ownerWatches ? t('The picture will be here in a moment.') : t(OWNER_AWAY)}</p>
          <div className={styles.cardActions}>
            <Button onClick={props.onLeft}>{t('Leave')}</Button>
          </div>
        </div>
      )}
      {state.kind === 'ended' && (
        <EndedCard state={state} onAgain={() => client?.connect()} onLeft={props.onLeft} />
      )}
      {touchDialog && kit !== null && touch.choice !== null && (
        <kit.TouchDialog
          onClose={() => setTouchDialog(false)}
          choice={touch.choice}
          maxPads={stream.input?.max_pads ?? 0}
          touchScreen={stream.input?.touch_screen ?? false}
          onChoice={touch.choose}
          onMove={() => {
            setTouchDialog(false);
            touch.setMoving(true);
          }}
        />
      )}
    </main>
  );
}

const OWNER_AWAY = msg('The person who shares the app is not here at the moment.');

/** Explains why the picture ended for this guest. */
function EndedCard({ state, onAgain, onLeft }: { state: Ended; onAgain: () => void; onLeft: () => void }) {
  const [title, advice, canReturn] =
    state.code === 'sharing_disabled' ? SWITCHED_OFF : (ENDS[state.reason] ?? ERROR);
  return (
    <div className={styles.card} role="alertdialog" aria-label={t(title)}>
      <h2>{t(title)}</h2>
      <p>{t(advice)}</p>
      {canReturn && (
        <div className={styles.cardActions}>
          <Button
            variant="filled"
            autoFocus
            onClick={state.reason === 'reload' ? () => window.location.reload() : onAgain}
          >
            {state.reason === 'reload' ? t('Reload') : t('Join again')}
          </Button>
          <Button onClick={onLeft}>{t('Leave')}</Button>
        </div>
      )}
    </div>
  );
}

type EndText = readonly [title: string, advice: string, canReturn: boolean];
const OVER: EndText = [
  msg('Your visit is over'),
  msg('The link has expired, or the person who shares the app has removed you.'),
  false,
];
const SWITCHED_OFF: EndText = [
  msg('Sharing is switched off'),
  msg('An administrator does not allow guests at the moment.'),
  true,
];
const APP_ENDED: EndText = [msg('The app has ended'), msg('You can close this page.'), false];
const ERROR: EndText = [msg('The picture could not be shown'), msg('Try again in a moment.'), true];
const ENDS: Partial<Record<Ended['reason'], EndText>> = {
  guest_ended: OVER,
  refused: OVER,
  owner_away: [OWNER_AWAY, msg('You can join again when the app is watched again.'), true],
  taken_over: [
    msg('The picture moved to another window'),
    msg('Somebody opened the link a second time. Only one can use it at a time.'),
    true,
  ],
  disconnected: [msg('You have left'), msg('You can join again as long as the link works.'), true],
  session_ended: APP_ENDED,
  idle_timeout: APP_ENDED,
  host_lost: APP_ENDED,
  codec_unsupported: [
    msg('This browser cannot play the picture'),
    msg('Another browser, or a current version of this one, can show it.'),
    false,
  ],
  reload: [msg('This page is out of date'), msg('The server was updated.'), true],
};
