/** The public shapes of the player: what a page hands in, what it hears, and what it may ask. */
import type { AppLaunchState, Codec, SessionStateName } from '@footlight/protocol';
import type { AppNotice, Display } from '@footlight/protocol/input';
import type { IceServer, Ready } from '@footlight/protocol/signal';
import type { BrowserEventType, ClientHealth, ClientMetrics } from '@footlight/protocol/telemetry';

/** Why a stream is over for this page. */
export type EndReason =
  /** the session stopped or failed; its record says more */
  | 'session_ended'
  /** the host is gone */
  | 'host_lost'
  /** another page took over; this one stays away until the person asks (connect() again) */
  | 'taken_over'
  /** nobody used the session for too long */
  | 'idle_timeout'
  /** disconnect() was called */
  | 'disconnected'
  /** this browser cannot play the session's codec */
  | 'codec_unsupported'
  /** this page is older than the service: reload it */
  | 'reload'
  /** the page could not get a signaling token, for good (see SignalingRefused) */
  | 'refused'
  /** a bug or a refusal that trying again cannot mend; code and message say which */
  | 'error';

/** signaling: 'lost' while a live picture plays on without the control plane, which is no reason to alarm anybody. */
export type StreamState =
  /** before connect() */
  | { kind: 'idle' }
  /** on the way to the service */
  | { kind: 'connecting'; attempt: number }
  /** connected; the session is not far enough to show anything, or the picture is being negotiated */
  | {
      kind: 'waiting';
      session_state: SessionStateName;
      /** launch step in the contract's words, for example "starting display"; null = nothing to say */
      state_detail: string | null;
      app_launch_state: AppLaunchState | null;
    }
  /** frames are shown */
  | { kind: 'live'; signaling: 'connected' | 'lost'; app_launch_state: AppLaunchState | null }
  /** there was a picture and it is gone; a new one is on its way */
  | { kind: 'reconnecting'; attempt: number; why: 'signaling' | 'media' }
  | { kind: 'ended'; reason: EndReason; code: string | null; message: string | null };

export type StreamStateKind = StreamState['kind'];

/** How the stream feels, in one word, and the one measurement that decided it. */
export interface Quality {
  word: 'excellent' | 'good' | 'poor';
  /** for people, for example "network delay 84 ms"; "" when excellent */
  reason: string;
}

/** Where the host's clock stands against this page's. */
export interface ClockRecord {
  /** host − client */
  client_offset_ms: number;
  /** half of the smallest round trip */
  uncertainty_ms: number;
}

/** One second of the stream. A measurement that could not be taken is absent, never zero. */
export interface StreamStats {
  ts_unix_ms: number;
  /** in the form of the telemetry route */
  metrics: ClientMetrics;
  client_health: ClientHealth;
  client_health_reason: string;
  /** for example "video/H264"; null until known */
  codec_mime_type: string | null;
  /** size of the decoded picture in pixels; 0 until the first */
  width: number;
  height: number;
  /** packets lost ÷ packets expected in this second, 0–1; null without packets */
  loss: number | null;
  quality: Quality;
  clock: ClockRecord | null;
}

/** An event in the form of the trace route. */
export interface TraceEvent {
  ts_unix_ms: number;
  type: BrowserEventType;
  payload: Record<string, unknown>;
}

/** What is held or caught at the moment, for the page's controls. */
export interface InputStatus {
  /** events reach the session (see setInputEnabled) */
  enabled: boolean;
  pointer_locked: boolean;
  /** the app wants relative motion; the next click in the picture locks the pointer */
  pointer_lock_wanted: boolean;
  fullscreen: boolean;
  /** system keys such as Escape and Meta reach the session too */
  keyboard_locked: boolean;
  /** gamepads in use */
  pads: number;
}

export interface AudioStatus {
  /** the stream has sound */
  available: boolean;
  muted: boolean;
  volume: number;
  microphone: 'off' | 'on' | 'denied' | 'unavailable';
}

/** Names of events with what they carry. */
export interface StreamEvents {
  state: StreamState;
  stats: StreamStats;
  /** what the service said about the stream: codec, size, sound, recording */
  ready: Ready;
  trace: TraceEvent;
  /** a new clock measurement, worth posting */
  clock: ClockRecord;
  audio: AudioStatus;
  input: InputStatus;
  /** the app changed the clipboard; written already where the browser allowed it without a gesture */
  clipboard: { text: string; written: boolean };
  /** the display changed its size or scale */
  display: Display;
  app: AppNotice['state'];
  /** something the person should read */
  notice: { code: string; text: string };
  /**
   * The person asks for the page's own controls: Ctrl+Alt+Shift+Z, which also gives back keyboard and pointer, or
   * the guide button of a gamepad, which the session sees too.
   */
  menu: { source: 'keyboard' | 'pad' };
  /** the first picture of this connect() is shown: the moment for a cross-fade */
  first_frame: { width: number; height: number };
}
export type StreamEventName = keyof StreamEvents;
export type StreamListener<Name extends StreamEventName> = (event: StreamEvents[Name]) => void;

/** What connectSignaling answers: the parts of the signaling-token route. */
export interface SignalingAccess {
  /** absolute ws(s) URL of /v1/signal, or a path of the page's own origin; with or without the token */
  url: string;
  /** single use, 60 s; "" when the URL has it already */
  token: string;
  /** used until the service names newer ones */
  ice_servers?: IceServer[];
}

export interface StreamClientOptions {
  /** shows picture and sound; the client sets srcObject, muted and playsInline, nothing else */
  video: HTMLVideoElement;
  /**
   * Takes the input: an element that covers the video exactly, or contains it. It is made focusable, gets
   * touch-action none, the session's cursor, and is what goes full screen.
   */
  surface: HTMLElement;
  /**
   * Gets a fresh token. Called once per attempt. A rejection is tried again on the backoff, unless it is a
   * SignalingRefused, which ends the stream.
   */
  connectSignaling: () => Promise<SignalingAccess>;
  /** codecs this browser can decode, h264 is implied; absent: asked from RTCRtpReceiver.getCapabilities */
  codecs?: Codec[];
  /** for since_launch_ms of the first frame: the session's created_at in Unix ms */
  session_created_at_ms?: number;
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
  /** where the client's time, randomness and sockets come from; absent: the browser's own */
  environment?: Partial<Environment>;
}

export interface StreamClient {
  readonly state: StreamState;
  /** the newest second; null before the first */
  readonly stats: StreamStats | null;
  readonly audio: AudioStatus;
  readonly input: InputStatus;
  /** what the service said last; null before the first connection */
  readonly ready: Ready | null;
  /** Hears one kind of event; the returned function stops it. */
  on<Name extends StreamEventName>(name: Name, listener: StreamListener<Name>): () => void;
  /** Starts, or starts again after an end. Does nothing while connecting or live. */
  connect(): void;
  /** Leaves the stream: the session goes on, state becomes ended with reason disconnected. */
  disconnect(): void;
  /** Builds a new media connection beside the old one, for example after the person changed networks. */
  renegotiate(): void;
  /**
   * Turns the sound on. Call it from a click or key press: browsers start media muted.
   * @returns false where the browser refused
   */
  unmuteAudio(): Promise<boolean>;
  muteAudio(): void;
  /** @param volume 0–1 */
  setVolume(volume: number): void;
  /** @returns what came of it; 'unavailable' where the session has no microphone */
  setMicrophone(on: boolean): Promise<AudioStatus['microphone']>;
  /** Full screen, with the keyboard locked where the browser can. Call it from a gesture. */
  enterFullscreen(): Promise<boolean>;
  exitFullscreen(): Promise<void>;
  toggleFullscreen(): Promise<void>;
  /** Call it from a gesture. @returns false where the browser refused */
  requestPointerLock(): Promise<boolean>;
  exitPointerLock(): void;
  /** Types text as characters, whatever the keyboard layout; split into messages as needed. */
  sendText(text: string): void;
  /** Presses keys in order and lets them go in reverse: ["ControlLeft", "AltLeft", "Delete"]. */
  sendKeys(codes: string[]): void;
  /** Gives the session a clipboard text. @returns false where it is too long, too often, or nobody listens */
  sendClipboard(text: string): boolean;
  /** Whether events of the surface reach the session; off while a dialog of the page is open. */
  setInputEnabled(enabled: boolean): void;
  /** Puts the keyboard focus on the stream. */
  focus(): void;
  /** One timing message per frame, for a latency display. */
  setFrameTiming(enabled: boolean): void;
  /** Ends everything and frees every listener, timer and connection. Safe twice. */
  dispose(): void;
}

export interface Timer {
  cancel(): void;
}

/** The outside world, so that tests can play it. */
export interface Environment {
  /** Unix milliseconds with fractions */
  nowUnixMs(): number;
  /** monotonic milliseconds with fractions, the base of DOM event and frame time stamps */
  monotonicMs(): number;
  setTimeout(work: () => void, ms: number): Timer;
  setInterval(work: () => void, ms: number): Timer;
  /** 0 ≤ x < 1 */
  random(): number;
  uuid(): string;
  createWebSocket(url: string): WebSocket;
  createPeerConnection(configuration: RTCConfiguration): RTCPeerConnection;
}

/**
 * Thrown by connectSignaling when asking again is useless: the session is gone, or the person may not see it.
 * @param reason what state becomes
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
