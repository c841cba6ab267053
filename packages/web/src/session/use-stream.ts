import type { AppNotice, AppWindow, Display, KeyboardLayout, WatchingGuest } from '@footlight/protocol/input';
import type { Session } from '@footlight/protocol/rest';
import type {
  AudioStatus,
  InputStatus,
  StreamClient,
  StreamClientOptions,
  StreamState,
  StreamStats,
} from '@footlight/stream-client';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { deviceKey } from '../api/auth-store.ts';
import { ApiFailure, type CallInput, call } from '../api/client.ts';
import { clock } from '../clock.ts';
import { t } from '../i18n/translate.ts';
import { takeSocket } from '../launch/early-socket.ts';
import { takeTicket } from '../launch/first-ticket.ts';
import { keepPicture } from '../launch/last-picture.ts';
import { loadPlayer, type Player } from '../launch/player.ts';

/** Time limit of a post: twice the interval of posts. Chosen, not measured. */
const POST_LIMIT_MS = 10_000;
/** Number of stored seconds, which is the width of the graphs in the statistics. */
const KEPT_SECONDS = 60;

/** State of the stream for the page. */
export interface StreamView {
  client: StreamClient | null;
  state: StreamState;
  /** newest last, at most a minute */
  history: readonly StreamStats[];
  audio: AudioStatus | null;
  input: InputStatus | null;
  /** whether a frame was shown in this visit, possibly of an empty display */
  shown: boolean;
  /** state of the app's start, reported by the host; null: unknown */
  app: AppNotice['state'] | null;
  /** the last message of the host for the person; a new object for each message */
  notice: { code: string; text: string } | null;
  /** the display's last reported sizes; null: unknown */
  display: Display | null;
  /** layout of the session's keyboard; null: unknown, or this host cannot set one */
  layout: KeyboardLayout | null;
  /** the app's windows */
  windows: readonly AppWindow[];
  /** the guests who watch; empty on the page of a guest */
  guests: readonly WatchingGuest[];
  /** whether the owner of the session watches; false only on the page of a guest */
  ownerWatches: boolean;
}

const START: StreamView = {
  client: null,
  state: { kind: 'idle' },
  history: [],
  audio: null,
  input: null,
  shown: false,
  app: null,
  notice: null,
  display: null,
  layout: null,
  windows: [],
  guests: [],
  ownerWatches: true,
};

/**
 * Runs the player of one session while the component is mounted.
 * @param wanted false before the session can be watched, and after its end
 */
export function useStream(
  session: Session | undefined,
  wanted: boolean,
  elements: StreamElements,
): StreamView {
  const id = session?.id;
  return usePlayer(
    !wanted || session === undefined || id === undefined
      ? null
      : {
          key: id,
          options: (player, hadPicture) => ({
            session_created_at_ms: Date.parse(session.created_at),
            device_key: deviceKey(),
            connectSignaling: (signal) => ticketFor(id, player, signal, hadPicture()),
            sendTelemetry: ({ operation, body }, keepalive) =>
              call(operation, {
                params: { id },
                body,
                keepalive,
                // Limits the time, because a post that hangs would occupy one of the browser's connections.
                ...(keepalive ? {} : { signal: AbortSignal.timeout(POST_LIMIT_MS) }),
              } as CallInput<typeof operation>),
            environment: { createWebSocket: takeSocket },
          }),
          onLeave: (video) => keepPicture(id, video),
        },
    elements,
  );
}

export interface StreamElements {
  video: RefObject<HTMLVideoElement | null>;
  surface: RefObject<HTMLElement | null>;
}

/** Where a stream comes from. */
export interface StreamSource {
  /** another stream has another key */
  key: string;
  /** @param hadPicture whether a picture was shown in this visit */
  options(
    player: Player,
    hadPicture: () => boolean,
  ): Pick<
    StreamClientOptions,
    'connectSignaling' | 'device_key' | 'environment' | 'sendTelemetry' | 'session_created_at_ms'
  >;
  /** called before the player is removed */
  onLeave?(video: HTMLVideoElement): void;
}

/** Runs the player while the component is mounted. @param source null: nothing is played */
export function usePlayer(source: StreamSource | null, elements: StreamElements): StreamView {
  const [view, setView] = useState<StreamView>(START);
  const newest = useRef(source);
  newest.current = source;
  const key = source?.key;

  useEffect(() => {
    const video = elements.video.current;
    const surface = elements.surface.current;
    const begun = newest.current;
    if (begun === null || begun.key !== key || video === null || surface === null) return;
    const set = (part: Partial<StreamView>) => setView((before) => ({ ...before, ...part }));
    let client: StreamClient | null = null;
    let gone = false;
    let hadPicture = false;
    loadPlayer().then(
      (player) => {
        if (gone) return;
        client = player.createStreamClient({
          ...(newest.current ?? begun).options(player, () => hadPicture),
          video,
          surface,
          input_label: t('Input to the app'),
          client: { name: 'web', version: '1' },
          onState: (state) => set({ state }),
          onStats: (stats) =>
            setView((before) => ({ ...before, history: [...before.history, stats].slice(-KEPT_SECONDS) })),
          onAudio: (audio) => set({ audio }),
          onInput: (input) => set({ input }),
          onFirstFrame: () => {
            hadPicture = true;
            set({ shown: true });
          },
        });
        client.on('notice', (notice) => set({ notice: { ...notice } }));
        client.on('display', (display) => set({ display }));
        client.on('app', (app) => set({ app }));
        client.on('keyboard_layout', (layout) => set({ layout }));
        client.on('windows', (windows) => set({ windows }));
        client.on('guests', (guests) => set({ guests }));
        client.on('owner', (ownerWatches) => set({ ownerWatches }));
        set({ client, state: client.state, audio: client.audio, input: client.input });
        client.connect();
      },
      () => set({ state: { kind: 'ended', reason: 'reload', code: null, message: null } }),
    );
    return () => {
      gone = true;
      begun.onLeave?.(video);
      client?.dispose();
      setView(START);
    };
  }, [key, elements.video, elements.surface]);

  return view;
}

/** @param ownConnection after an interruption, connections of other requests may hang */
async function ticketFor(
  id: string,
  { SignalingRefused }: Player,
  signal: AbortSignal,
  ownConnection: boolean,
) {
  const kept = takeTicket(id, clock.nowMs());
  if (kept !== undefined) return kept;
  try {
    return (await call('sessions.signalingToken', { params: { id }, signal, ownConnection })).signaling;
  } catch (error) {
    // A conflict means that the session has ended. All other refusals of the server are permanent, except 429.
    if (error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429) {
      throw new SignalingRefused(
        error.code === 'conflict' ? 'session_ended' : 'refused',
        error.message,
        error.code,
      );
    }
    throw error;
  }
}
