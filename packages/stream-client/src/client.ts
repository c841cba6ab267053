import { decodeInput, type KeyboardLayout } from '@footlight/protocol/input';
import type { Ready } from '@footlight/protocol/signal';
import { type ClientAction, Driver } from './core/driver.ts';
import { browserEnvironment, Cleanup } from './environment.ts';
import { Emitter } from './events.ts';
import { FirstFrameReport } from './first-frame.ts';
import { ClipboardBridge } from './input/clipboard.ts';
import { Controls } from './input/controls.ts';
import { InputSender } from './input/sender.ts';
import { AccessRequests } from './media/access.ts';
import { applyControl } from './media/apply-control.ts';
import { ControlChannel } from './media/control-channel.ts';
import { CursorShapes } from './media/cursor.ts';
import { greeting } from './media/greeting.ts';
import { Peer } from './media/peer.ts';
import { Picture, type ShownFrame } from './media/picture.ts';
import { Reachability } from './media/reachability.ts';
import { SignalingSocket } from './media/socket.ts';
import { Sound } from './media/sound.ts';
import { ClockOffset } from './stats/clock-offset.ts';
import { Meter } from './stats/meter.ts';
import { TelemetryPosts } from './stats/telemetry-posts.ts';
import { UpQueue } from './stats/up-queue.ts';
import type {
  AudioStatus,
  Environment,
  FingerReader,
  InputStatus,
  PadReading,
  PointerOutput,
  PointerShape,
  StreamClient,
  StreamClientOptions,
  StreamEventName,
  StreamListener,
  StreamState,
  StreamStats,
  TraceEvent,
} from './types.ts';

/** Frame rate that is used until `ready` contains the stream's frame rate: the usual rate of displays. */
const DEFAULT_FPS = 60;
/**
 * Limit of the control messages queued for a connection that is not shown yet: twice the 128 cursor shapes that a page
 * keeps.
 */
const MAX_EARLY = 256;

const PASTE_TOO_LONG = {
  code: 'clipboard_too_long',
  text: 'The app did not get what you pasted: it is longer than 64 KiB.',
};

/**
 * The shell around the state machine: executes its actions on sockets, connections, tracks and input, and reports their
 * events to it as facts.
 *
 * States: index.ts. Owns driver, socket, peers, picture, sound, input and meter; dispose() frees all. A peer is freed
 * earlier if the machine closes it.
 */
export class BrowserStreamClient implements StreamClient {
  readonly #options: StreamClientOptions;
  readonly #environment: Environment;
  readonly #emitter = new Emitter();
  readonly #cleanup = new Cleanup();
  readonly #driver: Driver;
  readonly #reachability: Reachability;
  readonly #access: AccessRequests;
  readonly #peers = new Map<string, Peer>();
  readonly #clock = new ClockOffset();
  readonly #upQueue = new UpQueue();
  readonly #queueFollowers = new Set<(queueMs: number) => void>();
  readonly #socket: SignalingSocket;
  readonly #sender: InputSender;
  readonly #control: ControlChannel;
  readonly #picture: Picture;
  readonly #sound: Sound;
  readonly #cursor: CursorShapes;
  readonly #clipboard: ClipboardBridge;
  readonly #controls: Controls;
  readonly #meter: Meter;
  readonly #firstFrame: FirstFrameReport;
  #current: Peer | null = null;
  #ready: Ready | null = null;
  /** the channel of the last `files` event */
  #files: RTCDataChannel | null = null;
  #stats: StreamStats | null = null;
  /** URL of the newest signaling socket; null: none was opened */
  #url: string | null = null;
  #size: { width: number; height: number } | null = null;

  constructor(options: StreamClientOptions) {
    this.#options = options;
    const environment = { ...browserEnvironment(), ...options.environment };
    this.#environment = environment;
    this.#emitter.subscribe(options);
    const { video, surface } = options;
    this.#driver = new Driver(environment, {
      perform: (action) => this.#perform(action),
      onState: (state, before) => this.#onState(state, before),
    });
    this.#access = new AccessRequests(
      (signal) => options.connectSignaling(signal),
      (fact) => this.#driver.dispatch(fact),
    );
    this.#socket = new SignalingSocket(environment, {
      onOpen: () => this.#driver.dispatch({ type: 'socket_open' }),
      onMessage: (message) => this.#driver.dispatch({ type: 'message', message }),
      onClose: (code) => this.#driver.dispatch({ type: 'socket_closed', code }),
    });
    this.#reachability = new Reachability(environment, (yes) =>
      this.#driver.dispatch({ type: 'reachable', yes }),
    );
    this.#sender = new InputSender(environment, (seq, sentMs) => this.#meter.clicks.press(seq, sentMs));
    this.#control = new ControlChannel(environment, this.#sender);
    this.#picture = new Picture(video, (frame) => this.#onFrame(frame));
    this.#sound = new Sound(video, this.#picture, (audio) => this.#emitter.emit('audio', audio));
    this.#cursor = new CursorShapes(surface, (shape) => this.#emitter.emit('pointer_shape', shape));
    this.#clipboard = new ClipboardBridge(environment, (text) =>
      this.#control.send({ type: 'clipboard', text }),
    );
    this.#controls = new Controls(environment, this.#sender, surface, video, {
      isLive: () => this.#driver.model.picture,
      onGesture: () => void this.#clipboard.onGesture(),
      onPaste: (text) => this.#onPaste(text),
      onMenu: (source) => this.#emitter.emit('menu', { source }),
      onChange: (input) => this.#emitter.emit('input', input),
      inputLabel: options.input_label,
    });
    this.#firstFrame = new FirstFrameReport({
      environment,
      createdAtMs: options.session_created_at_ms ?? null,
      isFlat: () => this.#picture.isFlat(),
      clock: () => this.#clock.record,
      onTrace: (event) => this.#emitter.emit('trace', event),
    });
    this.#meter = new Meter(environment, {
      measured: () => this.#current,
      targetFps: () => this.#ready?.stream.fps ?? DEFAULT_FPS,
      clock: () => this.#clock.record,
      onStats: (stats) => this.#onStats(stats),
      onDecoded: () => this.#onDecoded(),
      onSilent: () => this.#driver.dispatch({ type: 'silent', pc_id: this.#current?.pcId ?? '' }),
      onStuck: () => this.#driver.dispatch({ type: 'stuck', pc_id: this.#current?.pcId ?? '' }),
      onFreeze: (gapMs) => this.#onFreeze(gapMs),
      onPlayoutChange: (from_ms, to_ms) => this.#trace('playout.changed', { from_ms, to_ms }),
    });
    this.#cleanup.listen(document, 'visibilitychange', () => {
      this.#meter.interrupt();
      if (this.#driver.model.active) this.#trace('client.visibility_changed', { hidden: document.hidden });
    });
    this.#cleanup.listen(window, 'online', () => this.#driver.dispatch({ type: 'online' }));
    // Sends the message `bye` when the person leaves the page. Otherwise the page would occupy the session's viewer
    // slot until a time-out.
    this.#cleanup.listen(window, 'pagehide', (event) => {
      if (!(event as PageTransitionEvent).persisted) this.disconnect();
    });
    // This listener is registered after the listener that sends `bye`, so that the last telemetry report contains the
    // events of the end.
    if (options.sendTelemetry !== undefined) {
      const posts = new TelemetryPosts(this, options.sendTelemetry, environment, options.device_key);
      this.#cleanup.add(() => posts.close());
    }
  }

  get state(): StreamState {
    return this.#driver.state;
  }

  get stats(): StreamStats | null {
    return this.#stats;
  }

  get audio(): AudioStatus {
    return this.#sound.status;
  }

  get input(): InputStatus {
    return this.#controls.status;
  }

  get pointerShape(): PointerShape {
    return this.#cursor.shape;
  }

  get pointer(): PointerOutput {
    return this.#controls.pointer;
  }

  get ready(): Ready | null {
    return this.#ready;
  }

  on<Name extends StreamEventName>(name: Name, listener: StreamListener<Name>): () => void {
    return this.#emitter.on(name, listener);
  }

  connect(): void {
    this.#driver.dispatch({ type: 'connect' });
  }

  disconnect(): void {
    this.#driver.dispatch({ type: 'disconnect' });
  }

  renegotiate(): void {
    this.#driver.dispatch({ type: 'renegotiate' });
  }

  unmuteAudio(): Promise<boolean> {
    return this.#sound.unmute();
  }

  muteAudio(): void {
    this.#sound.mute();
  }

  setVolume(volume: number): void {
    this.#sound.setVolume(volume);
  }

  setMicrophone(on: boolean): Promise<AudioStatus['microphone']> {
    return this.#sound.setMicrophone(on);
  }

  enterFullscreen(): Promise<boolean> {
    return this.#controls.enterFullscreen();
  }

  exitFullscreen(): Promise<void> {
    return this.#controls.exitFullscreen();
  }

  toggleFullscreen(): Promise<void> {
    return this.#controls.toggleFullscreen();
  }

  requestPointerLock(): Promise<boolean> {
    return this.#controls.lockPointer();
  }

  exitPointerLock(): void {
    this.#controls.unlockPointer();
  }

  sendText(text: string): void {
    this.#controls.keyboard.sendText(text);
  }

  sendKeys(codes: string[]): void {
    this.#controls.keyboard.sendKeys(codes);
  }

  sendClipboard(text: string): boolean {
    return this.#clipboard.toSession(text) === 'sent';
  }

  setInputEnabled(enabled: boolean): void {
    this.#controls.setEnabled(enabled);
  }

  setKeyboardLayout(layout: KeyboardLayout): void {
    this.#control.setLayout(layout);
  }

  setWindow(id: number): void {
    this.#control.send({ type: 'window_use', id });
  }

  setFingers(reader: FingerReader | null): void {
    this.#controls.setFingers(reader);
  }

  setOnScreenPad(reading: PadReading | null): void {
    this.#controls.pads.setOnScreen(reading);
  }

  setFrameTiming(enabled: boolean): void {
    this.#control.setFrameTiming(enabled);
  }

  focus(): void {
    this.#controls.keyboard.focus();
  }

  dispose(): void {
    if (this.#driver.isDisposed) return;
    this.#firstFrame.flush();
    this.#emitter.clear();
    this.#driver.dispatch({ type: 'disconnect' });
    this.#driver.dispose();
    this.#controls.dispose();
    this.#meter.dispose();
    this.#control.dispose();
    this.#sound.dispose();
    this.#picture.dispose();
    this.#cursor.reset();
    this.#reachability.stop();
    this.#access.close();
    this.#socket.close(false);
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
    this.#cleanup.run();
  }

  #onState(state: StreamState, before: StreamState): void {
    if (before.kind === 'live' && state.kind !== 'live') {
      this.#controls.releaseAll();
      this.#controls.pads.stopRumble();
    }
    if (state.kind === 'ended') {
      this.#sound.closeMicrophone();
      this.#firstFrame.flush();
    }
    if (state.kind === 'reconnecting' && this.#url !== null) this.#reachability.start(this.#url);
    else this.#reachability.stop();
    this.#emitter.emit('state', state);
  }

  #perform(action: ClientAction): void {
    switch (action.type) {
      case 'fetch_access':
        void this.#access.request();
        return;
      case 'open_socket':
        this.#url = action.url;
        this.#reachability.giveWay();
        this.#socket.open(action.url);
        return;
      case 'close_socket':
        this.#socket.close(action.bye);
        return;
      case 'send_hello':
        this.#socket.send(greeting(this.#options, action.resume));
        return;
      case 'send':
        this.#socket.send(action.message);
        return;
      case 'ready':
        this.#ready = action.ready;
        this.#emitter.emit('ready', action.ready);
        return;
      case 'build_peer':
        this.#buildPeer(action);
        return;
      case 'add_candidate':
        this.#peers.get(action.pc_id)?.addCandidate(action.candidate, action.mid);
        return;
      case 'promote':
        this.#promote(action.pc_id);
        return;
      case 'close_peer':
        this.#closePeer(action.pc_id);
        return;
      case 'close_microphone':
        void this.#sound.setMicrophone(false);
    }
  }

  #buildPeer({ offer, ice_servers }: Extract<ClientAction, { type: 'build_peer' }>): void {
    let connectionState: RTCPeerConnectionState = 'new';
    const peer = new Peer(this.#environment, offer, ice_servers, {
      onState: (from, state) => {
        this.#trace('webrtc.state_changed', { kind: 'connection', from: connectionState, to: state });
        connectionState = state;
        this.#driver.dispatch({ type: 'peer_state', pc_id: from.pcId, state });
      },
      onIceState: (_peer, from, to) => this.#trace('webrtc.state_changed', { kind: 'ice', from, to }),
      onAnswer: (from, sdp) => this.#socket.send({ type: 'answer', pc_id: from.pcId, sdp }),
      onCandidate: (from, candidate, mid) =>
        this.#socket.send({ type: 'candidate', pc_id: from.pcId, candidate, mid }),
      onUnusable: (from, why) => this.#driver.dispatch({ type: 'peer_unusable', pc_id: from.pcId, why }),
      onChannelOpen: (from, name) => {
        if (name === 'control') this.#greet(from);
      },
      onFiles: () => this.#tellFiles(),
      onBinary: (from, name, bytes) => this.#onBinary(from, name, bytes),
      onControl: (from, frame) => this.#onControl(from, frame),
    });
    this.#peers.set(peer.pcId, peer);
    void peer.negotiate(offer);
  }

  #promote(pcId: string): void {
    const peer = this.#peers.get(pcId);
    if (peer === undefined) return;
    this.#current = peer;
    this.#clock.reset();
    this.#upQueue.reset();
    this.#meter.reset();
    this.#cursor.reset();
    this.#sender.attach(peer.channels);
    this.#controls.forget();
    this.#control.attach(peer);
    this.#picture.show(peer.tracks);
    this.#sound.attach(peer);
    for (const frame of peer.early.splice(0)) this.#onControl(peer, frame);
    this.#tellFiles();
  }

  /** Emits `files` once for each channel, after both the channel and the host's file size limit are known. */
  #tellFiles(): void {
    const channel = this.#current?.files ?? null;
    const { maxFileMb } = this.#control;
    const known = maxFileMb === null ? null : channel;
    if (known === this.#files) return;
    this.#files = known;
    this.#emitter.emit(
      'files',
      known === null
        ? null
        : {
            channel: known,
            maxFileMb: maxFileMb ?? 0,
            canRename: this.#control.canRename,
            followQueue: (follower) => this.#followQueue(follower),
          },
    );
  }

  #followQueue(follower: (queueMs: number) => void): () => void {
    this.#queueFollowers.add(follower);
    this.#control.follow(true);
    return () => {
      this.#queueFollowers.delete(follower);
      if (this.#queueFollowers.size === 0) this.#control.follow(false);
    };
  }

  #closePeer(pcId: string): void {
    const peer = this.#peers.get(pcId);
    if (peer === undefined) return;
    this.#peers.delete(pcId);
    if (this.#current === peer) {
      this.#current = null;
      this.#control.attach(null);
      this.#sender.attach(null);
      this.#cursor.reset();
      this.#size = null;
      this.#tellFiles();
    }
    peer.close();
  }

  #greet(peer: Peer): void {
    const { clientWidth, clientHeight } = this.#options.surface;
    this.#control.greet(peer, {
      width: clientWidth,
      height: clientHeight,
      dpr: window.devicePixelRatio || 1,
    });
  }

  #onPaste(text: string): void {
    // Sends the paste key even if the text was refused; the app then pastes its previous clipboard.
    if (this.#clipboard.toSession(text) === 'too_long') this.#emitter.emit('notice', PASTE_TOO_LONG);
  }

  #onBinary(peer: Peer, name: 'input' | 'motion', bytes: Uint8Array): void {
    if (peer !== this.#current) return;
    const decoded = decodeInput(bytes, name, 'viewer');
    if (decoded.kind !== 'message') return;
    const { message } = decoded;
    if (message.kind === 'pong') this.#onPong(message);
    else if (message.kind === 'rumble') this.#controls.pads.rumble(message);
    else if (message.kind === 'frame') {
      this.#meter.timed(message);
      this.#meter.clicks.contained(message.input_seq, message.input_rtp_timestamp);
    }
  }

  #onPong(pong: { client_ms: number; receive_ms: number; send_ms: number }): void {
    const queueMs = this.#upQueue.add(pong);
    for (const follower of this.#queueFollowers) follower(queueMs);
    const record = this.#clock.add(pong, this.#environment.nowUnixMs(), this.#environment.monotonicMs());
    if (record === null) return;
    this.#emitter.emit('clock', record);
    this.#firstFrame.measured(record);
  }

  #onControl(peer: Peer, frame: string): void {
    // Queues the messages of a connection until the connection is promoted.
    if (peer !== this.#current) {
      peer.early.push(frame);
      if (peer.early.length > MAX_EARLY) peer.early.shift();
      return;
    }
    const message = this.#control.read(frame);
    if (message === null) return;
    applyControl(message, {
      emitter: this.#emitter,
      control: this.#control,
      cursor: this.#cursor,
      clipboard: this.#clipboard,
      controls: this.#controls,
      onGreeted: () => this.#tellFiles(),
      onBye: (reason) => this.#driver.dispatch({ type: 'control_bye', pc_id: peer.pcId, reason }),
    });
  }

  #onFrame(frame: ShownFrame): void {
    this.#meter.frame(frame);
    this.#size = { width: frame.width, height: frame.height };
    this.#seen();
  }

  #onDecoded(): void {
    const { video } = this.#options;
    // A hidden page gets no frame callbacks, and some browsers do not support frame callbacks.
    if (!this.#picture.reportsFrames || document.hidden) {
      this.#size ??= { width: video.videoWidth, height: video.videoHeight };
      this.#seen();
    }
  }

  #seen(): void {
    const current = this.#current;
    if (current === null) return;
    const { picture, had_picture: hadPicture, current: path } = this.#driver.model;
    if (!picture || path?.lost !== false) this.#driver.dispatch({ type: 'frame', pc_id: current.pcId });
    const { width, height } = this.#size ?? { width: 0, height: 0 };
    if (!hadPicture && this.#driver.model.had_picture) {
      this.#emitter.emit('first_frame', { width, height });
      if (document.activeElement === document.body || document.activeElement === null) this.focus();
      this.#firstFrame.begin();
    }
    if (!this.#firstFrame.isLooking) return;
    const [atUnixMs, atMs] = [this.#environment.nowUnixMs(), this.#environment.monotonicMs()];
    this.#firstFrame.frame({ width, height, atUnixMs, atMs, offeredAtMs: current.offeredAtMs });
  }

  #onStats(stats: StreamStats): void {
    this.#stats = stats;
    this.#emitter.emit('stats', stats);
  }

  #onFreeze(gapMs: number): void {
    this.#control.freeze(gapMs);
    this.#trace('client.freeze_detected', { gap_ms: Math.round(gapMs), is_hidden: document.hidden });
  }

  #trace(type: TraceEvent['type'], payload: TraceEvent['payload']): void {
    this.#emitter.emit('trace', { ts_unix_ms: Math.round(this.#environment.nowUnixMs()), type, payload });
  }
}

/** Creates a client for one session. Inactive before connect(). */
export function createStreamClient(options: StreamClientOptions): StreamClient {
  return new BrowserStreamClient(options);
}
