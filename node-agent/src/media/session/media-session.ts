import type { Duplex, Writable } from 'node:stream';
import { errorText, type Timer, within } from '@footlight/platform';
import type { Open, SessionEndReason } from '@footlight/protocol';
import type { AgentSignal } from '@footlight/protocol/agent';
import type { DeviceFile } from '../../input/device-file.ts';
import { Gamepads } from '../../input/gamepads.ts';
import { withPatience } from '../../patience.ts';
import { effortSteps } from '../encode/encoder-effort.ts';
import { encoderRow } from '../encode/encoders.ts';
import type { EncodedPicture } from '../encode/video-pipeline.ts';
import type { FallbackAccess } from '../fallback/fallback-offer.ts';
import { ViewerFiles } from '../files/viewer-files.ts';
import { OWNER } from '../input/page-rights.ts';
import { holdMsFor } from '../input/press-hold.ts';
import { SessionInput } from '../input/session-input.ts';
import { LiveWrites } from '../rate/live-writes.ts';
import { SessionScreen } from '../screen/session-screen.ts';
import { Guests, isOfGuest } from '../viewer/guests.ts';
import { Peers } from '../viewer/peers.ts';
import type { ViewerChannels } from '../viewer/viewer-channels.ts';
import { createLocalNameResolver, type LocalNameResolver } from '../webrtc/mdns.ts';
import type {
  AttachMessage,
  BrowserSignal,
  ParentMessage,
  PrepareMessage,
  WorkerMessage,
} from '../worker/worker-messages.ts';
import { LiveWriteProbe } from './live-write-probe.ts';
import type { MediaClock } from './media-clock.ts';
import { effectiveMedia, MediaFailure, MediaReports } from './media-reports.ts';
import { heldMediaSettings, readMediaSettings } from './media-settings.ts';
import { MetricsCollector } from './metrics-window.ts';
import { SessionCaptures } from './session-captures.ts';
import { SessionRate } from './session-rate.ts';
import { SessionRecorder } from './session-recorder.ts';
import { SessionSound } from './session-sound.ts';
import { SessionVideo } from './session-video.ts';

export interface MediaSessionOptions {
  prepare: PrepareMessage;
  clock: MediaClock;
  /** Device files of the session's gamepads; closed by stop(). */
  padFiles: readonly DeviceFile[];
  /**
   * Device file of the session's touch screen; null: the first contact of a viewer drives the pointer. Closed by
   * stop().
   */
  touchFile: DeviceFile | null;
  /** Pipe to the agent's ring; null: the session is not recorded. */
  recording: Writable | null;
  /** Pipe to the process that serves the files of the home; null: file transfers are disabled. */
  files: Duplex | null;
  uuid(): string;
  random32(): number;
  send(message: WorkerMessage): void;
}

/**
 * Interval of the metrics. It equals the interval of the agent's heartbeat, because the control plane's pages do not
 * update more often.
 */
const METRICS_MS = 5_000;
/** Interval of a measurement. Source: docs/quality.md, "Verdicts". */
const BENCH_METRICS_MS = 1_000;
/**
 * Interval of the one timer for all polling. There is only one timer, because each wake-up is expensive while the
 * encoder is busy (50 to 100 µs, docs/development.md, "Benches").
 */
const POLL_MS = 250;
/**
 * Time limit for disposing the pipelines. A hanging encoder never ends, so the process exits without waiting longer.
 */
const DISPOSE_LIMIT_MS = withPatience(1_500);

/**
 * One session in its media worker: connects its screen, picture, sound, rate control, input and viewers. Each of these
 * owns the resources that it opens.
 *
 * States: new → prepared → started → stopped; viewers are handled in all states except stopped. prepare() opens the
 * display and builds the pipelines, start() runs them, stop() tears down viewers, input devices, pipelines, display, in
 * this order. A failure is reported once; the remaining parts continue until stop().
 */
export class MediaSession {
  readonly #options: MediaSessionOptions;
  readonly #reports: MediaReports;
  readonly #metrics: MetricsCollector;
  readonly #resolver: LocalNameResolver;
  readonly #gamepads: Gamepads;
  readonly #input: SessionInput;
  readonly #screen: SessionScreen;
  readonly #video: SessionVideo;
  readonly #rate: SessionRate;
  readonly #captures: SessionCaptures;
  readonly #peers: Peers;
  readonly #guests: Guests;
  readonly #liveWrites: LiveWrites;
  /** null: this is not a measurement, or it does not include the probe. */
  readonly #probe: LiveWriteProbe | null;
  /** Target bitrate of the encoder in kbit/s. */
  #targetKbps: number;
  readonly #recorder: SessionRecorder | null;
  readonly #files: ViewerFiles | null;
  /** null: the session is not prepared yet, or has no sound. */
  #sound: SessionSound | null = null;
  #timers: Timer[] = [];
  #prepared = false;
  /** Whether an offer was sent to a viewer. */
  #offered = false;
  /** The newest viewer that connected before the display was open. */
  #early: ViewerChannels | null = null;
  /** Whether the viewer draws the pointer; null: unknown. */
  #pointerDrawn: boolean | null = null;
  #stopped = false;
  #following = false;

  /** @throws MediaFailure when the table lacks the encoder */
  constructor(options: MediaSessionOptions) {
    this.#options = options;
    const { prepare, clock, send } = options;
    const { stream, encoder } = prepare;
    const row = encoderRow(encoder.family, stream.codec);
    if (!row) throw new MediaFailure('encoder_unavailable', `${encoder.family} has no ${stream.codec}`);
    const isBench = prepare.bench !== undefined;
    const read = readMediaSettings(prepare.settings);
    const settings = isBench ? heldMediaSettings(read) : read;
    this.#targetKbps = stream.bitrate_kbps;
    this.#liveWrites = new LiveWrites({ fillsItsBitrate: isBench });
    this.#probe =
      prepare.bench?.live_write_probe === true
        ? new LiveWriteProbe(clock, stream.bitrate_kbps, (kbps) => this.#setBitrate(kbps))
        : null;
    const reports = new MediaReports(send, clock);
    const forEachViewer = (visit: (channels: ViewerChannels) => void) => {
      this.#peers.forEach(visit);
      this.#guests.forEach(visit);
    };
    const event: MediaReports['event'] = (name, payload) => reports.event(name, payload);
    this.#reports = reports;
    this.#recorder = options.recording === null ? null : new SessionRecorder(options.recording, stream.codec);
    this.#files = options.files === null ? null : new ViewerFiles(options.files, clock);
    this.#metrics = new MetricsCollector(clock.monotonicMs());
    this.#resolver = createLocalNameResolver(clock);
    this.#gamepads = new Gamepads({
      files: options.padFiles,
      sessionId: prepare.session_id,
      clock,
      onRumble: (index, order, holder) => forEachViewer((channels) => channels.rumble(index, order, holder)),
      onCreated: (sysname) => send({ type: 'input_device', sysname }),
      onProblem: (error) => reports.log('warn', 'media.gamepad_failed', { error }),
    });
    const size = { width: stream.width, height: stream.height };
    this.#input = new SessionInput(clock, size, this.#gamepads, holdMsFor(stream.fps));
    this.#screen = new SessionScreen({
      prepare,
      touchFile: options.touchFile,
      input: this.#input,
      reports,
      clock,
      send,
      forEachViewer,
      withoutCapture: (change) => this.#video.withoutCapture(change),
      resizePicture: row.liveResize ? () => this.#usePicture() : null,
      ratePicture: () => this.#rate.picture,
    });
    this.#video = new SessionVideo({
      prepare,
      row,
      settings,
      clock,
      metrics: this.#metrics,
      reports,
      picture: () => this.#picture,
      onFrame: (frame) => {
        this.#peers.sendFrame(frame);
        this.#guests.sendFrame(frame);
        this.#recorder?.picture(frame);
        this.#rate.encoded(frame.encodeMs);
        this.#liveWrites.frame(frame.bytes, clock.monotonicMs());
      },
      onEncoding: () => {
        send({ type: 'encoding' });
        this.#probe?.start();
      },
      burst: () => this.#captures.burst,
    });
    this.#rate = new SessionRate({
      settings,
      stream,
      effortSteps: effortSteps(row, settings),
      clock,
      setBitrate: (kbps) => this.#setBitrate(kbps),
      setPicture: () => this.#usePicture(),
      forceKeyframe: () => this.#video.forceKeyframe(),
      path: { hold: () => this.#peers.hold(), probe: (kbps) => this.#peers.probe(kbps) },
      event,
      onQueue: (queueMs) => this.#files?.heard(queueMs),
    });
    this.#captures = new SessionCaptures({
      clock,
      graph: () => this.#video.graph(),
      encoderProps: () => this.#video.encoderProps(),
      rate: () => this.#rate.metrics(),
      answer: (request, made) => send({ type: 'capture_done', request, made }),
    });
    const connections = {
      stream,
      addresses: prepare.media.addresses,
      ports: prepare.media.ports,
      fallback: fallbackAccess(prepare, send),
      clock,
      uuid: options.uuid,
      random32: options.random32,
      resolver: this.#resolver,
      input: this.#input,
    };
    const signal = (conn: number, msg: AgentSignal) => send({ type: 'signal', conn, msg });
    this.#guests = new Guests({
      ...connections,
      events: {
        signal,
        onKeyframeWanted: () => this.#video.forceKeyframe(),
        onViewerReady: (channels) => {
          if (this.#prepared) this.#screen.greet(channels);
        },
        onChanged: (guests) =>
          this.#peers.forEach((channels) => {
            channels.control({ type: 'guests', guests });
          }),
      },
    });
    this.#peers = new Peers({
      ...connections,
      rights: OWNER,
      acceptsInput: () => true,
      maxFileMb: this.#files === null ? null : (prepare.files?.max_mb ?? null),
      events: {
        signal,
        event,
        onViewer: (connected) => {
          this.#guests.ownerWatches = connected;
          send({ type: 'viewer', connected });
        },
        onKeyframeWanted: () => this.#video.forceKeyframe(),
        onClipboard: (text) => this.#screen.setClipboard(text),
        onFilesChannel: (channel) => this.#files?.use(channel),
        onWindowUse: (id) => this.#screen.useWindow(id),
        onViewerReady: (channels) => {
          const guests = this.#guests.watching;
          if (guests.length > 0) channels.control({ type: 'guests', guests });
          if (this.#prepared) this.#screen.greet(channels);
          else this.#early = channels;
        },
        onPointerDrawn: (drawn) => {
          this.#pointerDrawn = drawn;
          this.#video.setPointerShown(!drawn);
        },
        onFirstOffer: () => {
          this.#offered = true;
          if (this.#prepared) this.#reportEffectiveMedia();
        },
        onPathChanged: () => this.#rate.pathChanged(),
        path: this.#rate,
        onMicPacket: (pcId, packet) => this.#sound?.micPacket(pcId, packet),
      },
    });
  }

  /**
   * Opens the display and builds the pipelines. Viewers are handled at the same time, because an offer needs neither
   * display nor pipelines, and its answer can arrive during the preparation.
   * @throws MediaFailure
   */
  async prepare(): Promise<void> {
    await this.#screen.open();
    const isLocal = this.#options.prepare.encodes === false;
    if (!isLocal) {
      this.#video.build(this.#rate.setpointKbps);
      this.#sound = this.#buildSound();
    }
    this.#prepared = true;
    if (this.#pointerDrawn !== null) this.#video.setPointerShown(!this.#pointerDrawn);
    if (this.#offered) this.#reportEffectiveMedia();
    if (this.#early) this.#screen.greet(this.#early);
    this.#early = null;
  }

  /** Starts the pipelines. Never throws; a capture that does not start is reported as a failure. */
  async start(): Promise<void> {
    const { clock, prepare } = this.#options;
    if (!(await this.#video.start()) || this.#stopped) return;
    if (this.#video.isBuilt && !prepare.reads_devices) this.#screen.followWindows();
    const metricsMs = prepare.bench === undefined ? METRICS_MS : BENCH_METRICS_MS;
    this.#timers.push(clock.setInterval(() => this.#reportMetrics(), metricsMs));
    this.#timers.push(clock.setInterval(() => this.#poll(), POLL_MS));
    this.#sound?.start();
  }

  handle(message: Exclude<ParentMessage, { type: 'prepare' | 'start' | 'stop' }>): void {
    if (this.#stopped) return;
    switch (message.type) {
      case 'attach':
        this.#attach(message);
        break;
      case 'detach':
        this.#peers.detach(message.conn);
        this.#guests.detach(message.conn);
        break;
      case 'signal':
        this.#onSignal(message.conn, message.msg);
        break;
      case 'guests':
        this.#guests.allow(message);
        break;
      case 'tune':
        if (message.bitrate_kbps !== undefined) this.#rate.tune(message.bitrate_kbps);
        if (message.keyframe) this.#video.forceKeyframe();
        break;
      case 'capture':
        this.#captures.take(message.request, message.order);
        break;
      case 'display':
        this.#screen.change(message);
        break;
      case 'withdraw_display':
        this.#screen.withdraw(message.request);
        break;
      case 'watch_app':
        this.#screen.watchApp(message.watch, message.only_new);
        break;
      case 'app_state':
        this.#screen.setAppState(message.state);
        break;
    }
  }

  /** Tears down all parts. Never throws. @param reason end reason of the session */
  async stop(reason: Open<SessionEndReason>): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    const byeReason = this.#reports.hasFailed ? 'error' : 'session_ended';
    this.#reports.close();
    this.#captures.close();
    this.#screen.freeze();
    this.#video.stop();
    this.#rate.close();
    this.#probe?.close();
    this.#files?.close();
    const bye = reason === 'idle_timeout' ? 'idle_timeout' : byeReason;
    await Promise.all([this.#peers.close(bye), this.#guests.close(bye)]);
    this.#input.close();
    this.#gamepads.close();
    this.#screen.stop();
    this.#resolver.close();
    // A hanging encoder must not delay the end. The process exits directly after this.
    const disposed = Promise.all([this.#video.dispose(), this.#sound?.dispose()]);
    const settled = disposed.catch(() => undefined);
    await within(this.#options.clock, DISPOSE_LIMIT_MS, settled, undefined);
    this.#screen.close();
  }

  #buildSound(): SessionSound | null {
    const { prepare, clock } = this.#options;
    const { audio, mic } = prepare.stream;
    if (prepare.pulse_server === null) return null;
    return new SessionSound({
      server: prepare.pulse_server,
      audio,
      mic,
      monotonicMs: () => clock.monotonicMs(),
      reports: this.#reports,
      onPacket: (packet) => {
        this.#peers.sendAudio(packet);
        this.#guests.sendAudio(packet);
        this.#recorder?.sound(packet);
      },
    });
  }

  #attach(message: AttachMessage): void {
    try {
      if (isOfGuest(message)) this.#guests.attach(message);
      else this.#peers.attach(message);
    } catch (error) {
      this.#reports.log('error', 'media.attach_failed', { error: errorText(error) });
      const msg = {
        type: 'error',
        code: 'internal',
        message: 'no connection could be offered',
        fatal: false,
      } as const;
      this.#options.send({ type: 'signal', conn: message.conn, msg });
    }
  }

  #onSignal(conn: number, msg: BrowserSignal): void {
    try {
      this.#peers.onSignal(conn, msg);
      this.#guests.onSignal(conn, msg);
    } catch (error) {
      this.#reports.log('error', 'media.signal_failed', { error: errorText(error), type: msg.type });
    }
  }

  /**
   * The picture that should be encoded: rate control decides frame rate and effort, and the size if no request or
   * window does.
   */
  get #picture(): EncodedPicture {
    return { ...this.#rate.picture, ...this.#screen.picture };
  }

  #setBitrate(kbps: number): void {
    const isTaken = this.#video.setBitrate(kbps);
    this.#liveWrites.written(this.#targetKbps, kbps, isTaken, this.#options.clock.monotonicMs());
    this.#targetKbps = kbps;
    this.#peers.setRate(kbps);
    this.#guests.setRate(kbps);
  }

  #usePicture(): void {
    this.#rate.pin(this.#screen.isPicturePinned);
    this.#video.usePicture();
    this.#screen.reportSizes();
  }

  #poll(): void {
    this.#video.poll(POLL_MS);
    this.#liveWrites.tick(this.#options.clock.monotonicMs());
    this.#sound?.poll();
    this.#peers.tick();
    this.#guests.tick();
    void this.#followDrawing();
    if (this.#recorder?.wantsKeyframe(this.#options.clock.monotonicMs())) this.#video.forceKeyframe();
  }

  /** Captures each picture when it is drawn, while a viewer is connected. Never throws. */
  async #followDrawing(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    while (!this.#stopped && this.#peers.active !== null && (await this.#screen.nextDrawing())) {
      await this.#video.captureDrawn();
    }
    this.#screen.restDrawing();
    this.#following = false;
  }

  #reportMetrics(): void {
    const { clock, send } = this.#options;
    for (const { frames, bytes } of this.#peers.takeCounts()) this.#metrics.sent(frames, bytes);
    const { window_ms, metrics } = this.#metrics.takeWindow(clock.monotonicMs());
    Object.assign(metrics, this.#rate.metrics(), this.#screen.metrics(), this.#liveWrites.metrics());
    Object.assign(metrics, this.#peers.active?.media.path.metrics());
    send({ type: 'metrics', ts: Math.round(clock.nowMs()), window_ms, metrics });
  }

  #reportEffectiveMedia(): void {
    const facts = {
      setpointKbps: this.#rate.setpointKbps,
      hasSound: this.#sound?.hasCapture ?? false,
      hasMicrophone: this.#sound?.hasMicrophone ?? false,
    };
    this.#reports.event('session.effective_media', effectiveMedia(this.#options.prepare, facts));
  }
}

/** @returns null: this host has no fallback port */
function fallbackAccess({ media }: PrepareMessage, send: MediaSessionOptions['send']): FallbackAccess | null {
  const { fallback_port: port = null } = media;
  if (port === null) return null;
  return {
    port,
    open: (pc_id, connection) => send({ type: 'fallback_open', pc_id, ...connection }),
    close: (pc_id) => send({ type: 'fallback_close', pc_id }),
  };
}
