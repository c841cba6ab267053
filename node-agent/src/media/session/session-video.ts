import { errorText, type Timer } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import { DropWatch, ENCODER_DEAD_MS, EncoderWatch, type WatchFinding } from '../encode/encoder-watch.ts';
import type { EncoderRow } from '../encode/encoders.ts';
import { type EncodedFrame, type EncodedPicture, VideoPipeline } from '../encode/video-pipeline.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { KeyframeLimit } from '../rtp/keyframe-limit.ts';
import type { EncoderProps } from '../worker/capture-messages.ts';
import type { PrepareMessage } from '../worker/worker-messages.ts';
import type { BurstStats } from './burst-stats.ts';
import type { MediaClock } from './media-clock.ts';
import { MediaFailure, type MediaReports } from './media-reports.ts';
import type { MediaSettings } from './media-settings.ts';
import type { MetricsCollector } from './metrics-window.ts';

/** If at least this number of frames is lost between two polls, the loss is reported, because a viewer notices it. */
const DROPS_WORTH_TELLING = 3;

export interface SessionVideoOptions {
  prepare: PrepareMessage;
  row: EncoderRow;
  settings: MediaSettings;
  clock: MediaClock;
  metrics: MetricsCollector;
  reports: MediaReports;
  /** The picture that should be encoded: size, frame rate and effort. */
  picture(): EncodedPicture;
  onFrame(frame: EncodedFrame): void;
  /** Called when the first frame left the encoder. */
  onEncoding(): void;
  /** The running burst capture, whose methods must be called for each frame; null: no burst is running. */
  burst(): BurstStats | null;
}

/**
 * The encoded picture of one session: its pipeline, the watch over it, and its keyframes.
 *
 * new → (build) → built → (start) → running → disposed. A local session stays in the state `new`, in which every call
 * is allowed and has no effect. Owner: the media session.
 */
export class SessionVideo {
  readonly #options: SessionVideoOptions;
  readonly #drops = new DropWatch();
  readonly #keyframes = new KeyframeLimit();
  #keyframeTimer: Timer | null = null;
  #pipeline: VideoPipeline | null = null;
  /** null: the pipeline was not started. */
  #watch: EncoderWatch | null = null;
  #encoding = false;
  /** Whether the next keyframe starts another picture size. */
  #pictureChanged = false;
  #disposed = false;

  constructor(options: SessionVideoOptions) {
    this.#options = options;
  }

  /** Whether the pipeline was built; false in a local session. */
  get isBuilt(): boolean {
    return this.#pipeline !== null;
  }

  /** @param bitrateKbps first target of the encoder @throws MediaFailure */
  build(bitrateKbps: number): void {
    const { prepare, row, settings, clock } = this.#options;
    const { stream, encoder, display } = prepare;
    try {
      this.#pipeline = new VideoPipeline({
        display,
        row,
        target: {
          width: stream.width,
          height: stream.height,
          fps: stream.fps,
          bitrateKbps,
          h264Profile: stream.h264_profile,
          renderNode: encoder.render_node,
          settings,
        },
        clock,
        events: {
          onFrame: (frame) => this.#onFrame(frame),
          onCaptured: ({ ptsMs, capturedAtMs, arrivedAtMs, queueLevel }) => {
            this.#watch?.input(arrivedAtMs);
            this.#drops.input(ptsMs, arrivedAtMs);
            this.#options.metrics.captured(capturedAtMs, queueLevel);
            this.#options.burst()?.captured(queueLevel);
          },
          onError: (source, message) => this.#onError(source, message),
        },
      });
    } catch (error) {
      throw new MediaFailure('encoder_unavailable', errorText(error));
    }
  }

  /** Starts the pipeline. Never throws. @returns false: the capture did not start, which is reported as a failure */
  async start(): Promise<boolean> {
    this.#watch = new EncoderWatch(this.#options.clock.monotonicMs(), withPatience(ENCODER_DEAD_MS));
    try {
      await this.#pipeline?.start();
      return true;
    } catch (error) {
      this.#options.reports.fail('capture_failed', errorText(error));
      return false;
    }
  }

  /** Polls pipeline and encoder. @param sinceMs time since the last call */
  poll(sinceMs: number): void {
    this.#pipeline?.poll();
    const { clock, metrics, reports } = this.#options;
    const nowMs = clock.monotonicMs();
    const lost = this.#drops.tick(nowMs);
    if (lost > 0) {
      metrics.dropped(lost);
      this.#options.burst()?.dropped(lost);
    }
    if (lost >= DROPS_WORTH_TELLING) {
      reports.event('encoder.drop_detected', { frames_dropped: lost, window_ms: sinceMs });
    }
    this.#onFinding(this.#watch?.tick(nowMs) ?? null);
  }

  /** @returns false: the encoder cannot change its bitrate while it runs */
  setBitrate(kbps: number): boolean {
    return this.#pipeline?.setBitrate(kbps) ?? true;
  }

  /** Applies the picture that should be encoded; the first keyframe with it is reported. */
  usePicture(): void {
    this.#pipeline?.setPicture(this.#options.picture());
    this.#pictureChanged = true;
  }

  setPointerShown(shown: boolean): void {
    this.#pipeline?.setPointerShown(shown);
  }

  /** @throws the error of `work`. Without a pipeline `work` is not called */
  async withoutCapture(work: () => Promise<void>): Promise<void> {
    await this.#pipeline?.withoutCapture(work);
  }

  /** See VideoPipeline; resolves at once while nothing is captured. */
  async captureDrawn(): Promise<void> {
    if (this.#encoding && !this.#disposed) await this.#pipeline?.captureDrawn();
  }

  /** The graph of the pipeline; null: there is no pipeline. */
  graph(): Promise<string> | null {
    return this.#pipeline?.dot() ?? null;
  }

  /** Current settings of the encoder; null: there is no encoder. */
  encoderProps(): EncoderProps | null {
    return this.#pipeline?.encoderProps() ?? null;
  }

  /** Requests a keyframe from the encoder now, or as soon as the limit allows it. */
  forceKeyframe(): void {
    if (this.#keyframeTimer || this.#disposed) return;
    const waitMs = this.#keyframes.request(this.#options.clock.monotonicMs());
    if (waitMs === null) return;
    if (waitMs === 0) {
      this.#pipeline?.forceKeyframe();
      return;
    }
    this.#keyframeTimer = this.#options.clock.setTimeout(() => {
      this.#keyframeTimer = null;
      this.forceKeyframe();
    }, waitMs);
  }

  /** Stops requesting keyframes. Must be called before the viewers are closed. */
  stop(): void {
    this.#disposed = true;
    this.#keyframeTimer?.cancel();
  }

  /** Disposes the pipeline. May never settle, because an encoder can hang. */
  async dispose(): Promise<void> {
    await this.#pipeline?.dispose();
  }

  #onFrame(frame: EncodedFrame): void {
    const { burst, clock, metrics, onEncoding, onFrame, row } = this.#options;
    onFrame(frame);
    metrics.encoded(frame.bytes, frame.encodeMs);
    const lost = frame.ptsMs === null ? 0 : this.#drops.output(frame.ptsMs);
    metrics.queueDropped(lost);
    burst()?.dropped(lost);
    burst()?.encoded(clock.monotonicMs(), frame.bytes, frame.encodeMs);
    this.#onFinding(this.#watch?.output(clock.monotonicMs()) ?? null);
    const isAwaited = this.#keyframes.isBeingMade || this.#pictureChanged;
    const isStart = isAwaited && isKeyframe(row.codec, frame.packets);
    if (isStart) this.#keyframes.onKeyframe();
    if (this.#encoding) {
      if (!this.#pictureChanged || !isStart) return;
      this.#pictureChanged = false;
      this.#reportCaps('rung_step');
      return;
    }
    this.#encoding = true;
    onEncoding();
    this.#reportCaps('launch');
  }

  #onError(source: string, message: string): void {
    const { reports } = this.#options;
    if (source === 'source') reports.fail('capture_failed', message);
    else reports.fail('encoder_failed', `${source}: ${message}`);
  }

  #onFinding(finding: WatchFinding | null): void {
    if (!finding) return;
    const { reports } = this.#options;
    if (finding.kind === 'stalled') {
      const since_ms = Math.round(finding.sinceMs);
      reports.event('encoder.stall', { phase: 'detected', reason: finding.reason, since_ms });
    } else if (finding.kind === 'recovered') {
      const stalled_ms = Math.round(finding.stalledMs);
      reports.event('encoder.stall', { phase: 'recovered', reason: finding.reason, stalled_ms });
    } else if (finding.reason === 'input_starved') {
      reports.fail('display_failed', 'no picture came from the display for 5 s');
    } else {
      reports.fail('encoder_failed', 'the encoder gave no output for 5 s');
    }
  }

  #reportCaps(trigger: 'launch' | 'rung_step'): void {
    const { prepare, picture, reports } = this.#options;
    const { width, height, fps } = picture();
    const caps = this.#pipeline?.caps();
    reports.event('caps.negotiated', {
      trigger,
      encoder_factory: this.#pipeline?.encoderName ?? null,
      codec: prepare.stream.codec,
      profile: /profile=\(string\)([^,]+)/.exec(caps?.encoderSrc ?? '')?.[1] ?? null,
      level: /level=\(string\)([^,]+)/.exec(caps?.encoderSrc ?? '')?.[1] ?? null,
      encoder_sink_caps: caps?.encoderSink ?? null,
      encoder_src_caps: caps?.encoderSrc ?? null,
      payloader_src_caps: caps?.payloaderSrc ?? null,
      size: { w: width, h: height, fps },
    });
  }
}
