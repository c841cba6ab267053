import { errorText } from '@footlight/platform';
import type { AgentSignal } from '@footlight/protocol/agent';
import { XConnection } from '../../display/x11/x-connection.ts';
import { XInput } from '../../display/x11/x-input.ts';
import { type ScreenSize, XScreenSize } from '../../display/x11/x-screen.ts';
import type { DeviceFile } from '../../input/device-file.ts';
import { Gamepads } from '../../input/gamepads.ts';
import { TouchScreen } from '../../input/touch-screen.ts';
import { AudioPipeline } from '../encode/audio-pipeline.ts';
import { effortSteps } from '../encode/encoder-effort.ts';
import { DropWatch, EncoderWatch, type WatchFinding } from '../encode/encoder-watch.ts';
import { type EncoderRow, type EncodeTarget, encoderRow } from '../encode/encoders.ts';
import { type EncodedFrame, VideoPipeline } from '../encode/video-pipeline.ts';
import { holdMsFor } from '../input/press-hold.ts';
import { SessionInput } from '../input/session-input.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { KeyframeLimit } from '../rtp/keyframe-limit.ts';
import { Microphone } from '../viewer/microphone.ts';
import { Peers } from '../viewer/peers.ts';
import type { ViewerChannels } from '../viewer/viewer-channels.ts';
import { createLocalNameResolver, type LocalNameResolver } from '../webrtc/mdns.ts';
import type {
  AttachMessage,
  BrowserSignal,
  DisplayUpdate,
  MediaFailureCode,
  ParentMessage,
  PrepareMessage,
  WorkerMessage,
} from '../worker/worker-messages.ts';
import type { MediaClock } from './media-clock.ts';
import { type MediaSettings, readMediaSettings } from './media-settings.ts';
import { MetricsCollector } from './metrics-window.ts';
import { SessionDesktop } from './session-desktop.ts';
import { SessionDisplay } from './session-display.ts';
import { SessionRate } from './session-rate.ts';
import { SessionWindows } from './session-windows.ts';

/**
 * Everything of one session in its media worker: display connection, pipelines, peer connections.
 *
 * States: new → prepared → started → stopped; viewers are handled in all except the last. prepare() opens the display
 * and builds the pipelines, start() runs them, stop() tears down viewers, input devices, pipelines, display, in this
 * order. A failure is reported once; the remaining parts go on until stop().
 */

export interface MediaSessionOptions {
  prepare: PrepareMessage;
  clock: MediaClock;
  /** Files of the session's gamepads; closed by stop(). */
  padFiles: readonly DeviceFile[];
  /** File of the session's touch screen; null: the first contact of a viewer drives the pointer. Closed by stop(). */
  touchFile: DeviceFile | null;
  uuid(): string;
  random32(): number;
  send(message: WorkerMessage): void;
}

/** A failure with the code for the session's end report. */
export class MediaFailure extends Error {
  readonly code: MediaFailureCode;

  constructor(code: MediaFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

const METRICS_MS = 5_000;
/**
 * Interval of the one timer for all polling: with a busy encoder the wake-up is the cost (50 to 100 µs,
 * docs/measuring.md).
 */
const WATCH_MS = 250;
/** Frames lost within one interval that a viewer notices. */
const DROPS_WORTH_TELLING = 3;
/** Time limit for disposing the pipelines; a hanging encoder never ends, so the process exits without it. */
const DISPOSE_LIMIT_MS = 1_500;

export class MediaSession {
  readonly #options: MediaSessionOptions;
  readonly #settings: MediaSettings;
  readonly #row: EncoderRow;
  readonly #resolver: LocalNameResolver;
  readonly #gamepads: Gamepads;
  #touchScreen: TouchScreen | null = null;
  readonly #input: SessionInput;
  readonly #peers: Peers;
  readonly #metrics: MetricsCollector;
  readonly #drops = new DropWatch();
  readonly #rate: SessionRate;
  readonly #keyframes = new KeyframeLimit();
  #keyframeTimer: NodeJS.Timeout | null = null;
  #display: XConnection | null = null;
  readonly #sizes: SessionDisplay;
  #screen: XScreenSize | null = null;
  #resizing: Promise<void> = Promise.resolve();
  /** null: the display keeps its size (console). */
  #windows: SessionWindows | null = null;
  #desktop: SessionDesktop | null = null;
  #video: VideoPipeline | null = null;
  #audio: AudioPipeline | null = null;
  /** null = no microphone in this session. */
  #microphone: Microphone | null = null;
  #watch: EncoderWatch | null = null;
  #timers: NodeJS.Timeout[] = [];
  #prepared = false;
  /** Whether a viewer got an offer. */
  #offered = false;
  /** The newest viewer that connected before the display was open. */
  #early: ViewerChannels | null = null;
  /** Whether the viewer draws the pointer; null: unknown. */
  #pointerDrawn: boolean | null = null;
  #encoding = false;
  /** Whether the next keyframe starts another picture size. */
  #rungStepped = false;
  #audioDegraded = false;
  #failed = false;
  #stopped = false;

  /** @throws MediaFailure when the table lacks the encoder */
  constructor(options: MediaSessionOptions) {
    this.#options = options;
    const { prepare, clock } = options;
    const { stream, encoder } = prepare;
    const row = encoderRow(encoder.family, stream.codec);
    if (!row) throw new MediaFailure('encoder_unavailable', `${encoder.family} has no ${stream.codec}`);
    this.#row = row;
    this.#settings = readMediaSettings(prepare.settings);
    this.#resolver = createLocalNameResolver();
    this.#gamepads = new Gamepads({
      files: options.padFiles,
      sessionId: prepare.session_id,
      monotonicMs: () => clock.monotonicMs(),
      onRumble: (index, order) => {
        this.#peers.forEach((channels) => {
          channels.rumble(index, order);
        });
      },
      onCreated: (sysname) => options.send({ type: 'input_device', sysname }),
      onProblem: (error) => this.#log('warn', 'media.gamepad_failed', { error }),
    });
    const holdMs = holdMsFor(stream.fps);
    this.#input = new SessionInput({ width: stream.width, height: stream.height }, this.#gamepads, holdMs);
    this.#sizes = new SessionDisplay(
      { width: stream.width, height: stream.height },
      {
        resizeScreen: async (size) => this.#video?.withoutCapture(async () => this.#screen?.resize(size)),
        screenSize: async () => this.#screen?.size() ?? null,
        setScale: async (scale) => this.#screen?.setScale(scale),
        resizePicture: this.#row.liveResize ? () => this.#usePicture() : null,
      },
    );
    this.#input.toDisplay = (x, y) => this.#sizes.toDisplay(x, y);
    this.#metrics = new MetricsCollector(clock.monotonicMs());
    this.#rate = new SessionRate({
      settings: this.#settings,
      stream,
      effortSteps: effortSteps(row, this.#settings),
      clock,
      setBitrate: (kbps) => this.#setBitrate(kbps),
      setPicture: () => this.#usePicture(),
      forceKeyframe: () => this.#forceKeyframe(),
      path: { hold: () => this.#peers.hold(), probe: (kbps) => this.#peers.probe(kbps) },
      event: (event, payload) => this.#event(event, payload),
    });
    this.#peers = new Peers({
      stream,
      addresses: prepare.media.addresses,
      ports: prepare.media.ports,
      clock,
      uuid: options.uuid,
      random32: options.random32,
      resolver: this.#resolver,
      input: this.#input,
      events: {
        signal: (conn, msg: AgentSignal) => options.send({ type: 'signal', conn, msg }),
        event: (event, payload) => this.#event(event, payload),
        onViewer: (connected) => options.send({ type: 'viewer', connected }),
        onKeyframeWanted: () => this.#forceKeyframe(),
        onClipboard: (text) => this.#desktop?.setClipboard(text),
        onViewerReady: (channels) => {
          if (this.#prepared) this.#greet(channels);
          else this.#early = channels;
        },
        onPointerDrawn: (drawn) => {
          this.#pointerDrawn = drawn;
          this.#video?.setPointerShown(!drawn);
        },
        onFirstOffer: () => {
          this.#offered = true;
          if (this.#prepared) this.#reportEffectiveMedia();
        },
        onPathChanged: () => this.#rate.pathChanged(),
        path: this.#rate,
        onMicPacket: (pcId, packet) => this.#microphone?.packet(pcId, packet),
      },
    });
  }

  /**
   * Opens the display and builds the pipelines. Viewers are handled in parallel: an offer needs neither, and its
   * answer arrives in the meantime.
   * @throws MediaFailure
   */
  async prepare(): Promise<void> {
    await this.#openDisplay();
    this.#build();
    this.#prepared = true;
    if (this.#pointerDrawn !== null) this.#video?.setPointerShown(!this.#pointerDrawn);
    if (this.#offered) this.#reportEffectiveMedia();
    if (this.#early) this.#greet(this.#early);
    this.#early = null;
  }

  async #openDisplay(): Promise<void> {
    const { prepare } = this.#options;
    try {
      this.#display = await XConnection.open(prepare.display, () =>
        this.#fail('display_failed', 'the display went away'),
      );
      const device = await XInput.open(this.#display);
      this.#screen = await XScreenSize.open(this.#display);
      const size = await this.#screen.size();
      this.#sizes.found(size);
      this.#touchScreen = this.#buildTouchScreen(size);
      this.#input.connect(device, this.#touchScreen);
      this.#desktop = await SessionDesktop.open(this.#display, {
        forEachViewer: (visit) => this.#peers.forEach(visit),
        onPresented: (watch) => this.#options.send({ type: 'app_presented', watch }),
      });
    } catch (error) {
      throw new MediaFailure('display_failed', errorText(error));
    }
  }

  #build(): void {
    const { prepare } = this.#options;
    if (prepare.encodes === false) return;
    try {
      this.#video = this.#buildVideo();
    } catch (error) {
      throw new MediaFailure('encoder_unavailable', errorText(error));
    }
    const server = prepare.pulse_server;
    if (server === null) return;
    if (prepare.stream.audio) this.#audio = this.#buildAudio(server);
    if (prepare.stream.mic) {
      this.#microphone = new Microphone({
        server,
        monotonicMs: () => this.#options.clock.monotonicMs(),
        onProblem: (why) => this.#log('warn', 'media.microphone_failed', { why }),
      });
    }
  }

  /** Never throws; a capture that does not start is reported as a failure. */
  async start(): Promise<void> {
    const { clock } = this.#options;
    this.#watch = new EncoderWatch(clock.monotonicMs());
    try {
      await this.#video?.start();
    } catch (error) {
      this.#fail('capture_failed', errorText(error));
      return;
    }
    if (this.#stopped) return;
    this.#followWindows();
    this.#timers.push(setInterval(() => this.#reportMetrics(), METRICS_MS));
    this.#timers.push(setInterval(() => this.#look(), WATCH_MS));
    // A failure of the sound does not end the session, and the picture does not wait for it.
    this.#audio?.start().catch((error: unknown) => this.#degradeAudio(errorText(error)));
  }

  handle(message: Exclude<ParentMessage, { type: 'prepare' | 'start' | 'stop' }>): void {
    if (this.#stopped) return;
    switch (message.type) {
      case 'attach':
        this.#attach(message);
        break;
      case 'detach':
        this.#peers.detach(message.conn);
        break;
      case 'signal':
        this.#onSignal(message.conn, message.msg);
        break;
      case 'tune':
        if (message.bitrate_kbps !== undefined) this.#rate.tune(message.bitrate_kbps);
        if (message.keyframe) this.#forceKeyframe();
        break;
      case 'display':
        this.#resizing = this.#resizing.then(() => this.#updateDisplay(message));
        break;
      case 'withdraw_display':
        this.#sizes.withdraw(message.request);
        this.#resizing = this.#resizing.then(() => this.#undoDisplay(message.request));
        break;
      case 'watch_app':
        this.#watchApp(message.watch, message.only_new);
        break;
      case 'app_state':
        this.#desktop?.setAppState(message.state);
        break;
      case 'notice':
        this.#peers.forEach((channels) => {
          channels.control({ type: 'notice', code: message.code, text: message.text });
        });
        break;
    }
  }

  /** Tears everything down; never throws. @param reason end reason of the session */
  async stop(reason: string): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#keyframeTimer) clearTimeout(this.#keyframeTimer);
    this.#rate.close();
    const said = reason === 'idle_timeout' ? 'idle_timeout' : this.#failed ? 'error' : 'session_ended';
    await this.#peers.close(said);
    this.#input.close();
    this.#gamepads.close();
    this.#touchScreen?.close();
    this.#desktop?.close();
    this.#windows?.close();
    this.#resolver.close();
    // A hanging encoder must not delay the end; the process exits right after this.
    const disposed = Promise.all([this.#video?.dispose(), this.#audio?.dispose(), this.#microphone?.close()]);
    const limit = new Promise((resolve) => setTimeout(resolve, DISPOSE_LIMIT_MS));
    await Promise.race([disposed.catch(() => undefined), limit]);
    this.#display?.close();
  }

  /** Sends the current state to a new viewer. */
  #greet(channels: ViewerChannels): void {
    channels.control(this.#sizes.message(this.#picture));
    this.#desktop?.greet(channels);
  }

  #attach(message: AttachMessage): void {
    try {
      this.#peers.attach(message);
    } catch (error) {
      this.#log('error', 'media.attach_failed', { error: errorText(error) });
      const msg = {
        type: 'error',
        code: 'internal',
        message: 'no connection could be offered',
        fatal: false,
      } as const;
      this.#options.send({ type: 'signal', conn: message.conn, msg });
    }
  }

  /** Size of the picture: as requested or set by a window, else from rate control. */
  get #picture(): { width: number; height: number } {
    const { width, height } = this.#sizes.picture ?? this.#rate.picture;
    return { width, height };
  }

  #usePicture(): void {
    this.#rate.pin(this.#sizes.picture !== null);
    this.#video?.setPicture({ ...this.#rate.picture, ...this.#picture });
    this.#rungStepped = true;
    this.#tellSizes();
  }

  #tellSizes(): void {
    this.#peers.forEach((channels) => {
      channels.control(this.#sizes.message(this.#picture));
    });
  }

  /** Never throws; reports the result. */
  async #updateDisplay(update: DisplayUpdate): Promise<void> {
    const { request } = update;
    try {
      await this.#sizes.apply(update);
    } catch (error) {
      // A screen that could not be restored has yet another size.
      this.#tellSizes();
      this.#options.send({ type: 'display_done', request, error: errorText(error).slice(0, 256) });
      return;
    }
    this.#tellSizes();
    this.#options.send({ type: 'display_done', request, error: null });
  }

  /** Never throws. */
  async #undoDisplay(request: number): Promise<void> {
    if (await this.#sizes.undo(request)) this.#tellSizes();
  }

  #followWindows(): void {
    const { prepare, clock } = this.#options;
    if (this.#video === null || prepare.reads_devices) return;
    this.#windows = new SessionWindows({
      display: prepare.display,
      monotonicMs: () => clock.monotonicMs(),
      base: () => this.#sizes.base,
      onCount: (count) => this.#options.send({ type: 'windows', count }),
      onFit: (size) => {
        this.#resizing = this.#resizing.then(() => this.#fitWindow(size));
      },
    });
    this.#windows.open().catch((error: unknown) => this.#logNotFitted(error));
  }

  /** Never throws. @param size null: the display's own size */
  async #fitWindow(size: ScreenSize | null): Promise<void> {
    if (this.#stopped) return;
    try {
      if (await this.#sizes.fitTo(size)) this.#tellSizes();
    } catch (error) {
      this.#tellSizes();
      this.#logNotFitted(error);
    }
  }

  #logNotFitted(error: unknown): void {
    this.#log('warn', 'media.window_not_fitted', { error: errorText(error) });
  }

  #watchApp(watch: number, onlyNew: boolean): void {
    this.#desktop?.watchApp(watch, onlyNew).then(
      () => this.#options.send({ type: 'watching', watch }),
      (error: unknown) => this.#fail('display_failed', errorText(error)),
    );
  }

  #onSignal(conn: number, msg: BrowserSignal): void {
    try {
      this.#peers.onSignal(conn, msg);
    } catch (error) {
      this.#log('error', 'media.signal_failed', { error: errorText(error), type: msg.type });
    }
  }

  #buildVideo(): VideoPipeline {
    const { prepare, clock } = this.#options;
    const { stream, encoder } = prepare;
    const target: EncodeTarget = {
      width: stream.width,
      height: stream.height,
      fps: stream.fps,
      bitrateKbps: this.#rate.setpointKbps,
      h264Profile: stream.h264_profile,
      renderNode: encoder.render_node,
      settings: this.#settings,
    };
    return new VideoPipeline({
      display: prepare.display,
      row: this.#row,
      target,
      clock,
      events: {
        onFrame: (frame) => this.#onFrame(frame),
        onCaptured: ({ ptsMs, arrivedAtMs, queueLevel }) => {
          this.#watch?.input(arrivedAtMs);
          this.#drops.input(ptsMs, arrivedAtMs);
          this.#metrics.captured(ptsMs, queueLevel);
        },
        onError: (source, message) => this.#onVideoError(source, message),
      },
    });
  }

  #buildTouchScreen(size: ScreenSize): TouchScreen | null {
    const { touchFile, prepare } = this.#options;
    if (touchFile === null) return null;
    const onProblem = (error: string) => this.#log('warn', 'media.touch_screen_failed', { error });
    try {
      return new TouchScreen(touchFile, { sessionId: prepare.session_id, size, onProblem });
    } catch (error) {
      touchFile.close();
      onProblem(errorText(error));
      return null;
    }
  }

  #buildAudio(server: string): AudioPipeline | null {
    try {
      return new AudioPipeline(server, {
        onPacket: (packet) => this.#peers.sendAudio(packet),
        onError: (source, message) => this.#degradeAudio(`${source}: ${message}`),
      });
    } catch (error) {
      this.#degradeAudio(errorText(error));
      return null;
    }
  }

  #onFrame(frame: EncodedFrame): void {
    this.#peers.sendFrame(frame);
    this.#metrics.encoded(frame.bytes, frame.encodeMs);
    this.#rate.encoded(frame.encodeMs);
    if (frame.ptsMs !== null) this.#metrics.queueDropped(this.#drops.output(frame.ptsMs));
    this.#onFinding(this.#watch?.output(this.#options.clock.monotonicMs()) ?? null);
    const isAwaited = this.#keyframes.isBeingMade || this.#rungStepped;
    const isStart = isAwaited && isKeyframe(this.#row.codec, frame.packets);
    if (isStart) this.#keyframes.cameOut();
    if (this.#encoding) {
      if (!this.#rungStepped || !isStart) return;
      this.#rungStepped = false;
      this.#reportCaps('rung_step');
      return;
    }
    this.#encoding = true;
    this.#options.send({ type: 'encoding' });
    this.#reportCaps('launch');
  }

  #onVideoError(source: string, message: string): void {
    if (source === 'source') this.#fail('capture_failed', message);
    else this.#fail('encoder_failed', `${source}: ${message}`);
  }

  #look(): void {
    this.#video?.look();
    this.#audio?.look();
    this.#peers.tick();
    const nowMs = this.#options.clock.monotonicMs();
    const lost = this.#drops.tick(nowMs);
    if (lost > 0) this.#metrics.dropped(lost);
    if (lost >= DROPS_WORTH_TELLING) {
      this.#event('encoder.drop_detected', { frames_dropped: lost, window_ms: WATCH_MS });
    }
    this.#onFinding(this.#watch?.tick(nowMs) ?? null);
  }

  #onFinding(finding: WatchFinding | null): void {
    if (!finding) return;
    if (finding.kind === 'stalled') {
      const since_ms = Math.round(finding.sinceMs);
      this.#event('encoder.stall', { phase: 'detected', reason: finding.reason, since_ms });
    } else if (finding.kind === 'recovered') {
      const stalled_ms = Math.round(finding.stalledMs);
      this.#event('encoder.stall', { phase: 'recovered', reason: finding.reason, stalled_ms });
    } else if (finding.reason === 'input_starved') {
      this.#fail('display_failed', 'no picture came from the display for 5 s');
    } else {
      this.#fail('encoder_failed', 'the encoder gave no output for 5 s');
    }
  }

  #setBitrate(bitrateKbps: number): void {
    this.#video?.setBitrate(bitrateKbps);
    this.#peers.setRate(bitrateKbps);
  }

  /** Orders a keyframe now, or when the limit allows. */
  #forceKeyframe(): void {
    if (this.#keyframeTimer || this.#stopped) return;
    const waitMs = this.#keyframes.ask(this.#options.clock.monotonicMs());
    if (waitMs === null) return;
    if (waitMs === 0) {
      this.#video?.forceKeyframe();
      return;
    }
    this.#keyframeTimer = setTimeout(() => {
      this.#keyframeTimer = null;
      this.#forceKeyframe();
    }, waitMs);
  }

  #reportMetrics(): void {
    const { clock, send } = this.#options;
    for (const { frames, bytes } of this.#peers.takeCounts()) this.#metrics.sent(frames, bytes);
    const { window_ms, metrics } = this.#metrics.takeWindow(clock.monotonicMs());
    Object.assign(metrics, this.#rate.metrics());
    Object.assign(metrics, this.#sizes.metrics());
    send({ type: 'metrics', ts: Math.round(clock.wallMs()), window_ms, metrics });
  }

  #reportEffectiveMedia(): void {
    const { stream, encoder } = this.#options.prepare;
    const { width, height, fps, codec } = stream;
    const media = {
      codec,
      profile: codec === 'h264' ? stream.h264_profile : null,
      encoder: encoder.family,
      width,
      height,
      fps,
      bitrate_kbps: stream.bitrate_kbps,
    };
    this.#event('session.effective_media', {
      configured: media,
      resolved: media,
      actual: { ...media, bitrate_kbps: this.#rate.setpointKbps },
      audio: this.#audio ? { codec: 'opus', channels: 2, bitrate_kbps: 128 } : null,
      mic: this.#microphone ? 'negotiated' : 'off',
    });
  }

  #reportCaps(trigger: 'launch' | 'rung_step'): void {
    const { stream } = this.#options.prepare;
    const { width, height, fps } = { ...this.#rate.picture, ...this.#picture };
    const caps = this.#video?.caps();
    this.#event('caps.negotiated', {
      trigger,
      encoder_factory: this.#video?.encoderName ?? null,
      codec: stream.codec,
      profile: /profile=\(string\)([^,]+)/.exec(caps?.encoderSrc ?? '')?.[1] ?? null,
      level: /level=\(string\)([^,]+)/.exec(caps?.encoderSrc ?? '')?.[1] ?? null,
      encoder_sink_caps: caps?.encoderSink ?? null,
      encoder_src_caps: caps?.encoderSrc ?? null,
      payloader_src_caps: caps?.payloaderSrc ?? null,
      size: { w: width, h: height, fps },
    });
  }

  #degradeAudio(reason: string): void {
    if (this.#audioDegraded) return;
    this.#audioDegraded = true;
    this.#event('audio.degraded', { reason: reason.slice(0, 512), required: false });
    this.#log('warn', 'media.audio_degraded', { reason });
  }

  #fail(code: MediaFailureCode, message: string): void {
    if (this.#failed || this.#stopped) return;
    this.#failed = true;
    this.#options.send({ type: 'failure', failure_code: code, error: message });
  }

  #event(event: string, payload: Record<string, unknown>): void {
    this.#options.send({ type: 'event', event, ts: Math.round(this.#options.clock.wallMs()), payload });
  }

  #log(level: 'warn' | 'error', event: string, fields: Record<string, unknown>): void {
    this.#options.send({ type: 'log', level, event, fields });
  }
}
