/** The public types of the player: options, events and methods. */
import type { Clock } from '@footlight/platform/timer';
import type { AppLaunchState, Codec, SessionStateName } from '@footlight/protocol';
import type { AppNotice, AppWindow, Display, KeyboardLayout, WatchingGuest } from '@footlight/protocol/input';
import type { ClientSample } from '@footlight/protocol/rest';
import type { IceServer, Ready } from '@footlight/protocol/signal';
import type {
  BrowserEventType,
  ClientHealth,
  ClientMetrics,
  NetworkPath,
} from '@footlight/protocol/telemetry';

/** Why a stream is over for this page. */
export type EndReason =
  /** the session stopped or failed; its record contains the reason */
  | 'session_ended'
  /** the host lost its connection to the service for too long */
  | 'host_lost'
  /** another page took over the session; this page reconnects only after connect() */
  | 'taken_over'
  /** the session had no viewer for too long */
  | 'idle_timeout'
  /** the owner removed this guest, or the guest's time is over */
  | 'guest_ended'
  /** the owner of the session, whose guest this person is, did not watch for too long */
  | 'owner_away'
  /** disconnect() was called */
  | 'disconnected'
  /** this browser cannot play the session's codec */
  | 'codec_unsupported'
  /** this page is older than the service: reload it */
  | 'reload'
  /** the page could not get a signaling token, and a retry would fail too (see SignalingRefused) */
  | 'refused'
  /** a bug, or a refusal that a retry would get again; see code and message */
  | 'error';

/** signaling 'lost': a live picture continues without the control plane, so the page needs no warning. */
export type StreamState =
  /** before connect() */
  | { kind: 'idle' }
  /** connecting to the service */
  | { kind: 'connecting'; attempt: number }
  /**
   * connected to the service; the session shows no picture yet, or the connection for the picture is being negotiated
   */
  | {
      kind: 'waiting';
      session_state: SessionStateName;
      /** launch step (docs/sessions.md, "Launch"), for example "starting display"; null: no step was reported */
      state_detail: string | null;
      app_launch_state: AppLaunchState | null;
    }
  /** frames are shown */
  | { kind: 'live'; signaling: 'connected' | 'lost'; app_launch_state: AppLaunchState | null }
  /**
   * The picture was lost and is being restored. why: the service does not answer ('network'), the signaling socket is
   * being reconnected ('signaling'), or only the picture is missing ('media'). next_at_ms: the next attempt on the
   * monotonic clock; null: an attempt is in progress.
   */
  | {
      kind: 'reconnecting';
      attempt: number;
      why: 'network' | 'signaling' | 'media';
      next_at_ms: number | null;
    }
  | { kind: 'ended'; reason: EndReason; code: string | null; message: string | null };

export type StreamStateKind = StreamState['kind'];

/** The measurement that lowers the quality most, with its value. Times in ms. */
export type QualityCause =
  | { kind: 'frozen' }
  /** on the host, pictures wait for encoding or sending */
  | { kind: 'host_wait'; ms: number }
  /** too few complete frames arrived in the second: the host sends no more, or the network carries no more */
  | { kind: 'few_arrive'; arrived: number; wanted: number }
  /** this many frames were shown in the second, although more arrived */
  | { kind: 'few_frames'; shown: number; wanted: number }
  /** share of lost packets, 0–1 */
  | { kind: 'loss'; share: number }
  /** round trip of the network */
  | { kind: 'network_delay'; ms: number }
  | { kind: 'network_jitter'; ms: number }
  /** pictures wait in this browser */
  | { kind: 'buffer'; ms: number }
  | { kind: 'decoding' }
  | { kind: 'presenting' }
  /** delay from the app's screen to this screen */
  | { kind: 'picture_delay'; ms: number };

/** The stream's quality in one word, with the cause. */
export interface Quality {
  word: 'excellent' | 'good' | 'poor';
  /** null: the quality is excellent */
  cause: QualityCause | null;
}

/** Offset of the host's clock to this page's clock. */
export interface ClockRecord {
  /** time of the host minus time of this page */
  client_offset_ms: number;
  /** half of the smallest round trip */
  uncertainty_ms: number;
}

/** The parts of the delay of frames in one second, medians in ms; the sum of the parts is the total. */
export interface DelaySplit {
  /** capturing the screen, and the wait for sending on the host */
  capture_ms: number;
  encode_ms: number;
  /** half of the round trip */
  network_ms: number;
  decode_ms: number;
  /** from arrival to display, without the decoder: the jitter buffer, and the wait for the next refresh */
  present_ms: number;
  /** from capture to display */
  total_ms: number;
}

/** Measurements of one second of the stream. Values that were not measured are missing, never zero. */
export interface StreamStats {
  ts_unix_ms: number;
  /** in the form of the telemetry route */
  metrics: ClientMetrics;
  client_health: ClientHealth;
  client_health_reason: string;
  /** for example "video/H264"; null: not known yet */
  codec_mime_type: string | null;
  /** size of the decoded picture in pixels; 0 until the first picture */
  width: number;
  height: number;
  /** packets lost ÷ packets expected in this second, 0–1; null: no packets */
  loss: number | null;
  /** null: not known yet */
  path: NetworkPath | null;
  quality: Quality;
  clock: ClockRecord | null;
  /** null: no frame was timed by host and page, or the offset of the clocks is not measured yet */
  delay: DelaySplit | null;
}

/** An event in the form of the trace route. */
export interface TraceEvent {
  ts_unix_ms: number;
  type: BrowserEventType;
  payload: Record<string, unknown>;
}

/** One request of a telemetry operation. */
export type TelemetryPost =
  | { operation: 'sessions.stats'; body: { samples: ClientSample[] } }
  | { operation: 'sessions.traceEvents'; body: { events: TraceEvent[] } }
  | { operation: 'sessions.traceClock'; body: ClockRecord };

/**
 * Sends one post. Rejects with the HTTP status as `status` if the service refused the post.
 * @param last the person leaves the page, so the request must continue after the page is closed (fetch with keepalive)
 */
export type SendTelemetry = (post: TelemetryPost, last: boolean) => Promise<unknown>;

/** Input status for the page's controls. */
export interface InputStatus {
  /** input is sent to the session (see setInputEnabled) */
  enabled: boolean;
  pointer_locked: boolean;
  /** the app wants relative motion; the next click in the picture locks the pointer */
  pointer_lock_wanted: boolean;
  fullscreen: boolean;
  /** keys of the operating system such as Escape and Meta also reach the session */
  keyboard_locked: boolean;
  /** number of gamepads in use */
  pads: number;
  /** number of gamepads that the session accepts; 0: none, or not known yet */
  max_pads: number;
  /** the app has a touch screen, so touches can be sent without translation */
  touch_screen: boolean;
}

/** A finger on the picture. */
export interface Finger {
  action: 'down' | 'move' | 'up' | 'cancel';
  /** the id stays the same from down to up or cancel */
  id: number;
  /** position in CSS pixels of the page */
  x: number;
  y: number;
  /** 0–255 */
  pressure: number;
  /** monotonic ms */
  atMs: number;
}

/** Translates fingers into input of the session; see PointerOutput. */
export interface FingerReader {
  finger(finger: Finger): void;
  /** the session released all held buttons and contacts */
  forget(): void;
}

/**
 * Input as a pointing device sends it. Points are in CSS pixels of the page; points outside the picture are moved to
 * its edge.
 */
export interface PointerOutput {
  /** the picture's rectangle on the page, without the black bars, in CSS pixels */
  box(): { left: number; top: number; width: number; height: number };
  moveTo(x: number, y: number): void;
  /** relative motion, in CSS pixels of the picture at its shown size */
  moveBy(dx: number, dy: number): void;
  /**
   * @param button 0 left, 1 middle, 2 right
   * @param at null: at the pointer's position
   */
  button(button: number, down: boolean, at: { x: number; y: number } | null): void;
  /** scrolls by CSS pixels, positive right and down */
  scroll(dx: number, dy: number): void;
  /** touches contact 0 of the session's touch screen; without a touch screen, moves and presses its pointer */
  touch(finger: Pick<Finger, 'action' | 'x' | 'y' | 'pressure'>): void;
}

/** State of a gamepad; the members of the DOM's Gamepad that are used. */
export interface PadReading {
  buttons: readonly { pressed: boolean; value: number }[];
  axes: readonly number[];
}

/** The session's pointer: hidden, the system's own, or a shape as a data URL with its size and hot spot in pixels. */
export type PointerShape =
  | 'none'
  | 'default'
  | { url: string; width: number; height: number; hot_x: number; hot_y: number };

export interface AudioStatus {
  /** the stream has sound */
  available: boolean;
  muted: boolean;
  volume: number;
  microphone: 'off' | 'on' | 'denied' | 'unavailable';
}

/** The session's files: their channel, and the functions with which the page sends files without delaying input. */
export interface FilesLink {
  channel: RTCDataChannel;
  /** size of the largest file that the host accepts, MiB */
  maxFileMb: number;
  /** the host can rename files and make folders */
  canRename: boolean;
  /**
   * Reports the queueing delay of the path to the host, in ms, eight times a second. The page needs it, because input
   * waits in the same queue.
   * @returns a function that stops the reports
   */
  followQueue(follower: (queueMs: number) => void): () => void;
}

/** Event names with their payloads. */
export interface StreamEvents {
  state: StreamState;
  stats: StreamStats;
  /** codec, size, sound and recording of the stream, as the service reports them */
  ready: Ready;
  trace: TraceEvent;
  /** a new measurement of the clock, which should be posted */
  clock: ClockRecord;
  audio: AudioStatus;
  input: InputStatus;
  /** the app changed the clipboard; written: the browser allowed the write without a gesture */
  clipboard: { text: string; written: boolean };
  /** the display changed its size or scale */
  display: Display;
  app: AppNotice['state'];
  /** the keyboard layout of the session's display; null: this host cannot set one */
  keyboard_layout: KeyboardLayout | null;
  /** null: this session has no file transfer */
  files: FilesLink | null;
  /** the shape of the session's pointer, for a page that draws the pointer itself on devices without a mouse */
  pointer_shape: PointerShape;
  /** the app's windows; setWindow() accepts their ids */
  windows: readonly AppWindow[];
  /** the guests who watch the session; only for its owner */
  guests: readonly WatchingGuest[];
  /** whether the session's owner watches; only for guests, who get no picture while the owner is away */
  owner: boolean;
  /** a message that the page should show to the person */
  notice: { code: string; text: string };
  /**
   * The person requests the page's controls: by Ctrl+Alt+Shift+Z, which also releases keyboard and pointer, or on a
   * gamepad by the guide button, or by View and Menu held for a second. The session also gets these buttons. `touch`:
   * the pad that the page draws.
   */
  menu: { source: 'keyboard' | 'pad' | 'touch' };
  /** the first picture after connect() is shown, so the page can start its cross-fade */
  first_frame: { width: number; height: number };
}
export type StreamEventName = keyof StreamEvents;
export type StreamListener<Name extends StreamEventName> = (event: StreamEvents[Name]) => void;

/** Result of connectSignaling, as in the signaling-token operation. */
export interface SignalingAccess {
  /** absolute ws(s) URL of /v1/signal, or a path on the page's own origin; it may contain the token */
  url: string;
  /** single use, valid for 60 s; "" when the URL contains the token */
  token: string;
  /** ICE servers, used until the service sends newer ones */
  ice_servers?: IceServer[];
}

export interface StreamClientOptions {
  /** shows picture and sound; the client sets only srcObject, muted and playsInline */
  video: HTMLVideoElement;
  /**
   * Receives the input: an element that covers or contains exactly the video. The client makes the element focusable,
   * sets its touch-action to none and its cursor to the session's, and shows it full screen.
   */
  surface: HTMLElement;
  /**
   * Gets a new token, once per attempt. A rejection is retried with backoff, except a SignalingRefused, which ends the
   * stream.
   * @param signal aborts when a newer attempt replaces this one, because a request that hangs would occupy one of the
   *   browser's connections
   */
  connectSignaling: (signal: AbortSignal) => Promise<SignalingAccess>;
  /** codecs that this browser can decode, h264 is always included; absent: read from RTCRtpReceiver.getCapabilities */
  codecs?: Codec[];
  /** posts the player's measurements (see TelemetryPost); absent: no measurements are posted */
  sendTelemetry?: SendTelemetry;
  /** id of this device in posts, the same as at sign-in; absent: posts contain no id */
  device_key?: string;
  /** the session's created_at in Unix ms, for since_launch_ms of the first frame */
  session_created_at_ms?: number;
  /** label of the text field that gets the keys, for screen readers; absent: English */
  input_label?: string;
  /** name and version for the service's log */
  client?: { name: string; version: string };
  onState?: StreamListener<'state'>;
  onStats?: StreamListener<'stats'>;
  onTrace?: StreamListener<'trace'>;
  onClock?: StreamListener<'clock'>;
  onAudio?: StreamListener<'audio'>;
  onInput?: StreamListener<'input'>;
  onClipboard?: StreamListener<'clipboard'>;
  onFirstFrame?: StreamListener<'first_frame'>;
  /** time, randomness and sockets of the client; absent: the browser's */
  environment?: Partial<Environment>;
}

export interface StreamClient {
  readonly state: StreamState;
  /** measurements of the newest second; null: the first second has not ended */
  readonly stats: StreamStats | null;
  readonly audio: AudioStatus;
  readonly input: InputStatus;
  /** shape of the session's pointer */
  readonly pointerShape: PointerShape;
  /** input as from a pointing device, for code that reads fingers */
  readonly pointer: PointerOutput;
  /** the service's last message `ready`; null before the first connection */
  readonly ready: Ready | null;
  /** Adds a listener; the returned function removes it. */
  on<Name extends StreamEventName>(name: Name, listener: StreamListener<Name>): () => void;
  /** Starts, or starts again after an end. Does nothing while connecting or live. */
  connect(): void;
  /** Leaves the stream. The session continues, and the state becomes ended with reason disconnected. */
  disconnect(): void;
  /** Opens a new media connection next to the old one, for example after a network change. */
  renegotiate(): void;
  /**
   * Turns the sound on. Call it from a click or key press, because browsers start media muted.
   * @returns false if the browser refused
   */
  unmuteAudio(): Promise<boolean>;
  muteAudio(): void;
  /** @param volume 0–1 */
  setVolume(volume: number): void;
  /** @returns the new state of the microphone; 'unavailable': the session has no microphone */
  setMicrophone(on: boolean): Promise<AudioStatus['microphone']>;
  /** Shows the surface full screen, with the keyboard locked if possible. Call it from a gesture. */
  enterFullscreen(): Promise<boolean>;
  exitFullscreen(): Promise<void>;
  toggleFullscreen(): Promise<void>;
  /** Call it from a gesture. @returns false if the browser refused */
  requestPointerLock(): Promise<boolean>;
  exitPointerLock(): void;
  /** Types text as characters, independently of the keyboard layout. Long text is sent in several messages. */
  sendText(text: string): void;
  /** Presses keys in order and releases them in reverse order: ["ControlLeft", "AltLeft", "Delete"]. */
  sendKeys(codes: string[]): void;
  /**
   * Sets the layout of the session's keyboard, now and on later connections. The event `keyboard_layout` reports the
   * active layout. Without a call the session uses its default layout.
   */
  setKeyboardLayout(layout: KeyboardLayout): void;
  /** Raises and focuses a window that the event `windows` listed. */
  setWindow(id: number): void;
  /**
   * Sends a clipboard text.
   * @returns false when the text is too long, sent too often, or there is no connection
   */
  sendClipboard(text: string): boolean;
  /** Whether events of the surface reach the session; off while a dialog of the page is open. */
  setInputEnabled(enabled: boolean): void;
  /**
   * Sets the keyboard focus to the stream. An element in the surface with `data-stream-typing` types for the session;
   * if it has the focus, it keeps the focus.
   */
  focus(): void;
  /** Passes the fingers on the picture to a reader; null: each finger is sent as a touch. */
  setFingers(reader: FingerReader | null): void;
  /** Adds the gamepad that the page draws, or replaces its reader; null: removes the gamepad. */
  setOnScreenPad(reading: PadReading | null): void;
  /** Requests a timing message of the host for each frame, for a display of the latency. */
  setFrameTiming(enabled: boolean): void;
  /** Ends the stream and frees every listener, timer and connection. May be called twice. */
  dispose(): void;
}

/** The browser's interfaces, replaceable by tests. */
export interface Environment extends Omit<Clock, 'nowMs'> {
  /**
   * Unix milliseconds with fractions: the time of the page's load plus `monotonicMs`. Unlike `nowMs` of `Clock`, it does
   * not jump when the wall clock is set. So it can convert monotonic times, and measure offsets to the host's clock.
   */
  nowUnixMs(): number;
  /** monotonic milliseconds with fractions, the base of DOM event and frame time stamps */
  monotonicMs(): number;
  /** 0 ≤ x < 1 */
  random(): number;
  uuid(): string;
  createWebSocket(url: string): WebSocket;
  createPeerConnection(configuration: RTCConfiguration): RTCPeerConnection;
}

/**
 * Thrown by connectSignaling when a retry would fail too: the session does not exist any more, or the person may not
 * access it.
 * @param reason the end reason of the state
 */
export class SignalingRefused extends Error {
  override readonly name = 'SignalingRefused';
  constructor(
    readonly reason: EndReason,
    message: string,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}
