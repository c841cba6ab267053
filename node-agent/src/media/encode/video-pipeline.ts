import { type BusMessage, ManualClock, type MediaBuffer, Pipeline } from '@footlight/gst';
import { delay } from '@footlight/platform';
import { readRtpHeader, writeRtpTimestamp } from '../rtp/rtp-packet.ts';
import type { MediaClock } from '../session/media-clock.ts';
import type { EncoderProps } from '../worker/capture-messages.ts';
import { CaptureTimer } from './capture-timer.ts';
import { effortProperties } from './encoder-effort.ts';
import {
  type ChosenElement,
  chooseElement,
  configureEncoder,
  encodeBranch,
  writeRate,
} from './encoder-elements.ts';
import { type EncoderRow, type EncodeTarget, rateProperties } from './encoders.ts';
import { PAYLOADING, packetMaker } from './payloading.ts';

/** One encoded frame from the payloader. */
export interface EncodedFrame {
  packets: Buffer[];
  /** The picture as a recording stores it: its RTP packets, or its temporal unit if there is no payloader. */
  coded: Buffer[];
  /** RTP timestamp of the packets (90 kHz). It contains the capture time. */
  rtpTimestamp: number;
  /** Presentation time in milliseconds, in which all frames have the same length; null: the payloader lost it. */
  ptsMs: number | null;
  /** Capture time, in monotonic milliseconds. */
  capturedAtMs: number;
  /** Time from the encoder's input to the packets, in milliseconds; null: the input was not seen. */
  encodeMs: number | null;
  /** Bytes of all packets. */
  bytes: number;
}

export interface CapturedFrame {
  /** Presentation time in milliseconds, in which all frames have the same length. */
  ptsMs: number;
  /** Capture time, in monotonic milliseconds. */
  capturedAtMs: number;
  /** Time of arrival at the encoder's queue, in monotonic milliseconds. */
  arrivedAtMs: number;
  /** Number of frames in this queue. */
  queueLevel: number;
}

export interface VideoPipelineEvents {
  onFrame(frame: EncodedFrame): void;
  onCaptured(frame: CapturedFrame): void;
  onError(source: string, message: string): void;
}

/** Properties of the picture that can change while the pipeline runs. */
export interface EncodedPicture {
  /** Width in pixels. */
  width: number;
  height: number;
  fps: number;
  /** Number of effort steps by which the encoder was made faster. */
  speedBias: number;
}

export interface VideoPipelineOptions {
  /** X display such as ":42"; it becomes part of a pipeline description. */
  display: string;
  row: EncoderRow;
  target: EncodeTarget;
  clock: MediaClock;
  events: VideoPipelineEvents;
}

/**
 * Largest number of frames inside an encoder, in addition to its queue. If there are more, the oldest are not reported.
 */
const MAX_INSIDE = 4;
/** Time limit of the wait for a restarted capture; after it, the change continues without a frame. */
const CAPTURE_AGAIN_LIMIT_MS = 500;
/** Interval of the checks whether this frame has arrived. */
const CAPTURE_LOOK_MS = 5;
/** Longest property value in a capture, in characters. */
const MAX_PROPERTY = 256;
/** Clock rate of video. Source: RFC 3551, 5. */
const RTP_TICKS_PER_MS = 90;
/** Largest number of frames inside the encoder that can be matched to their output. */
const MAX_PENDING = 240;

/**
 * Capture, conversion, encoding and payloading of one session's picture.
 *
 *   X display → ximagesrc → convert → tee ┬→ arrival → tap (time at which a frame reached the encoder)
 *                                         └→ queue → encoder → parser → payloader → packets
 *
 * AV1 has no payloader: the pipeline gives temporal units, which are packed here.
 *
 * The queue lets capture and encoder run on different cores, and drops the oldest frame when the encoder is too slow.
 * Before each capture, the source waits until this process sets a manual clock, see CaptureTimer.
 *
 * Packets wake the event loop, but captured frames do not. Captured frames are read together with the packets, or, if
 * no packets arrive, when the queue is full. Owner: the media session; start() once, dispose() once.
 */
export class VideoPipeline {
  readonly #pipeline: Pipeline;
  /** Manual clock on which the source waits for its next capture. */
  readonly #clock = new ManualClock();
  readonly #capture: CaptureTimer;
  /** The first frame. RTP timestamps are computed relative to it. */
  #firstFrame: { timestamp: number; capturedAtMs: number } | null = null;
  /** RTP ticks of the newest frame, relative to the first frame. */
  #lastTicks = -1;
  readonly #encoder: ChosenElement;
  readonly #toPackets: (buffer: MediaBuffer) => Buffer[];
  readonly #options: VideoPipelineOptions;
  readonly #sinceArrival: () => number;
  readonly #queueLevel: () => number;
  /** Time of arrival at the encoder, by presentation time; oldest first. */
  readonly #pending = new Map<number, number>();
  #assembling: Buffer[] = [];
  /** Temporal units of the frame that is being assembled; always empty with a payloader. */
  #units: Buffer[] = [];
  #loop: Promise<void> = Promise.resolve();
  #sourceChange: Promise<void> = Promise.resolve();
  /** Number of running and waiting changes of the source. */
  #sourceChanges = 0;
  /** The picture that is set after the changes; null: it does not change. */
  #nextPicture: EncodedPicture | null = null;
  #stopping = false;

  /** @throws when an element is missing or refuses the format */
  constructor(options: VideoPipelineOptions) {
    this.#options = options;
    const { row, target } = options;
    const encoder = chooseElement(row, target);
    if (!encoder) throw new Error(`GStreamer has no element for ${row.family} ${row.codec}`);
    this.#encoder = encoder;
    this.#toPackets = packetMaker(row.codec);
    this.#pipeline = Pipeline.launch(describe(options.display, row, encoder, target));
    this.#pipeline.useClock(this.#clock);
    this.#capture = new CaptureTimer(this.#clock, target.fps, options.clock);
    configureEncoder(this.#pipeline, encoder, target);
    this.#sinceArrival = this.#pipeline.element('arrival').sinceSignal('handoff');
    this.#queueLevel = this.#pipeline.element('interpipe').counter('current-level-buffers');
  }

  /** @throws when the display cannot be opened or the encoder does not start */
  async start(): Promise<void> {
    try {
      await this.#pipeline.setState('playing');
    } catch (error) {
      throw new Error(firstError(this.#pipeline.pollBus()) ?? String(error));
    }
    this.#capture.start();
    this.#loop = this.#pullPackets();
  }

  /**
   * Polls the bus and the queue, a few times a second while the pipeline runs. Reports errors and the frames that
   * wait for the encoder.
   */
  poll(): void {
    this.#takeCaptured();
    for (const message of this.#pipeline.pollBus()) {
      if (message.kind === 'error') this.#options.events.onError(message.source, message.message);
      if (message.kind === 'eos') this.#options.events.onError('pipeline', 'end of stream');
    }
  }

  /** Name of the element that encodes. */
  get encoderName(): string {
    return this.#encoder.name;
  }

  /**
   * Sets the encoder's target in kbit/s, from the next frame on.
   * @returns false: this encoder cannot change its bitrate while it runs
   */
  setBitrate(bitrateKbps: number): boolean {
    const { element } = this.#encoder;
    if (element.rate.live) writeRate(this.#pipeline, element, bitrateKbps, this.#options.target.fps);
    return element.rate.live;
  }

  /**
   * Sets size, frame rate and effort of the running encoder; a new size starts with a keyframe. While the capture is
   * stopped, the change waits. If a size were set while the source negotiates its own size, the stream would end
   * ("Internal data stream error").
   */
  setPicture(picture: EncodedPicture): void {
    if (this.#sourceChanges > 0) this.#nextPicture = picture;
    else this.#usePicture(picture);
  }

  #usePicture(picture: EncodedPicture): void {
    const { row, target } = this.#options;
    this.#capture.setRate(picture.fps);
    this.#pipeline.element('rate').setProperty('caps', rateCaps(picture.fps));
    this.#pipeline.element('size').setProperty('caps', sizeCaps(row, picture));
    const encoder = this.#pipeline.element('encoder');
    const faster = effortProperties(row, target.settings, picture.speedBias);
    for (const [name, value] of Object.entries(faster)) {
      if (encoder.hasProperty(name)) encoder.setProperty(name, value);
    }
  }

  forceKeyframe(): void {
    this.#pipeline.element('packets').forceKeyUnit();
  }

  /**
   * Stops the capture, runs `work`, which changes the display, and restarts the capture. This is necessary because a
   * capture larger than the screen ends the process. Encoder and timestamps continue, and the next frames may have
   * another size.
   * @throws the error of `work`, after the capture was restarted
   */
  async withoutCapture(work: () => Promise<void>): Promise<void> {
    this.#sourceChanges++;
    const change = this.#sourceChange
      .then(async () => {
        if (this.#stopping) return;
        const source = this.#pipeline.element('source');
        await source.setState('ready');
        try {
          await work();
        } finally {
          // A restarted source captures at once. The clock is set before the restart, because the frame would otherwise
          // get the time of the last frame.
          this.#capture.now();
          await source.setState('playing');
          await this.#captureAgain();
        }
      })
      .finally(() => {
        this.#sourceChanges--;
        this.#takeNextPicture();
      });
    this.#sourceChange = change.catch(() => undefined);
    return change;
  }

  #takeNextPicture(): void {
    const picture = this.#nextPicture;
    if (picture === null || this.#sourceChanges > 0) return;
    this.#nextPicture = null;
    if (!this.#stopping) this.#usePicture(picture);
  }

  /** Waits for a frame of the restarted source. */
  async #captureAgain(): Promise<void> {
    const { clock } = this.#options;
    const fromMs = clock.monotonicMs();
    for (let waitedMs = 0; waitedMs < CAPTURE_AGAIN_LIMIT_MS; waitedMs = clock.monotonicMs() - fromMs) {
      if (this.#stopping || this.#sinceArrival() < waitedMs) return;
      await delay(clock, CAPTURE_LOOK_MS);
    }
  }

  /**
   * Captures the newly drawn picture as soon as the frame rate allows.
   * @returns resolves when the picture was captured, or the captures have ended
   */
  captureDrawn(): Promise<void> {
    return this.#capture.drawn();
  }

  /** Whether the picture contains the pointer, for a viewer that does not draw it. */
  setPointerShown(shown: boolean): void {
    this.#pipeline.element('source').setProperty('show-pointer', shown);
  }

  /**
   * Caps of the encoder's pads and of the payloader, as text; null: no frame was encoded yet, or there is no payloader.
   */
  caps(): { encoderSink: string | null; encoderSrc: string | null; payloaderSrc: string | null } {
    return {
      encoderSink: this.#pipeline.element('encoder').padCaps('sink'),
      encoderSrc: this.#pipeline.element('encoder').padCaps('src'),
      payloaderSrc: this.#hasPayloader ? this.#pipeline.element('payloader').padCaps('src') : null,
    };
  }

  /** The pipeline's graph as Graphviz text, with states and caps. */
  dot(): Promise<string> {
    return this.#pipeline.dot();
  }

  /**
   * Element, properties and caps of the encoder as they are now. Only properties of the encoder table are read, because
   * others may contain paths.
   */
  encoderProps(): EncoderProps {
    const encoder = this.#pipeline.element('encoder');
    const convert = this.#pipeline.element('convert');
    const { element, name } = this.#encoder;
    const { encoderSink, encoderSrc, payloaderSrc } = this.caps();
    const names = [...Object.keys(element.properties), ...Object.keys(rateProperties(element, 1, 1))];
    return {
      encoder_factory: name,
      codec: this.#options.row.codec,
      properties: Object.fromEntries(
        names
          .filter((property) => encoder.hasProperty(property))
          .map((property) => [property, typed(encoder.getProperty(property) ?? '')]),
      ),
      caps: { encoder_sink: encoderSink, encoder_src: encoderSrc, payloader_src: payloaderSrc },
      scale_stage: {
        element: 'videoconvertscale',
        sink: convert.padCaps('sink'),
        src: convert.padCaps('src'),
      },
    };
  }

  async dispose(): Promise<void> {
    this.#stopping = true;
    await this.#sourceChange;
    this.#capture.stop();
    // The state NULL ends the running pull; then the loop stops.
    await this.#pipeline.setState('null').catch(() => undefined);
    await this.#loop.catch(() => undefined);
    await this.#pipeline.dispose();
    this.#clock.release();
  }

  get #hasPayloader(): boolean {
    return PAYLOADING[this.#options.row.codec].payloader !== null;
  }

  async #pullPackets(): Promise<void> {
    const sink = this.#pipeline.appSink('packets');
    this.#pipeline.element('interpipe').onSignal(['overrun'], () => this.#takeCaptured());
    while (!this.#stopping && !sink.ended) {
      let sample = await sink.pull();
      this.#takeCaptured();
      // Reads all waiting samples, because a frame consists of several samples and each wake-up is expensive.
      while (sample) {
        const arrivedAtMs = this.#options.clock.monotonicMs();
        const buffers = sample.read();
        sample.release();
        for (const buffer of buffers) {
          if (!this.#hasPayloader) this.#units.push(buffer.data);
          for (const packet of this.#toPackets(buffer)) this.#assemble(packet, buffer.ptsMs, arrivedAtMs);
        }
        sample = this.#stopping ? null : sink.pullNow();
      }
    }
  }

  /**
   * Reports the frames captured since the last call. Only the newest has an arrival time; the arrival times of the
   * others are computed from their capture times.
   */
  #takeCaptured(): void {
    if (this.#stopping) return;
    const tap = this.#pipeline.appSink('tap');
    const captured: { ptsMs: number; capturedAtMs: number }[] = [];
    for (let sample = tap.pullNow(); sample; sample = tap.pullNow()) {
      const { ptsMs } = sample;
      if (ptsMs !== null) captured.push({ ptsMs, capturedAtMs: this.#capturedAtMs(ptsMs) });
      sample.release();
    }
    const newest = captured.at(-1);
    if (newest === undefined) return;
    const sinceCaptureMs = Math.max(
      0,
      this.#options.clock.monotonicMs() - this.#sinceArrival() - newest.capturedAtMs,
    );
    const queueLevel = this.#queueLevel();
    for (const { ptsMs, capturedAtMs } of captured) {
      const arrivedAtMs = capturedAtMs + sinceCaptureMs;
      this.#pending.set(ptsMs, arrivedAtMs);
      if (this.#pending.size > MAX_PENDING) this.#dropPendingThrough(this.#pending.keys().next().value ?? 0);
      this.#options.events.onCaptured({ ptsMs, capturedAtMs, arrivedAtMs, queueLevel });
    }
  }

  #capturedAtMs(ptsMs: number): number {
    return this.#capture.capturedAtMs(this.#pipeline.baseTimeMs + ptsMs);
  }

  #assemble(packet: Buffer, ptsMs: number | null, arrivedAtMs: number): void {
    this.#assembling.push(packet);
    const header = readRtpHeader(packet);
    if (!header?.marker) return;
    const packets = this.#assembling;
    const coded = this.#hasPayloader ? packets : this.#units;
    this.#assembling = [];
    this.#units = [];
    const enteredAtMs = ptsMs === null ? undefined : this.#pending.get(ptsMs);
    if (ptsMs !== null) this.#dropPendingThrough(ptsMs);
    const capturedAtMs = ptsMs === null ? arrivedAtMs : this.#capturedAtMs(ptsMs);
    const rtpTimestamp = this.#timestampOf(capturedAtMs, header.timestamp);
    for (const one of packets) writeRtpTimestamp(one, rtpTimestamp);
    this.#options.events.onFrame({
      packets,
      coded,
      rtpTimestamp,
      ptsMs,
      capturedAtMs,
      encodeMs: enteredAtMs === undefined ? null : Math.max(0, arrivedAtMs - enteredAtMs),
      bytes: packets.reduce((sum, { length }) => sum + length, 0),
    });
  }

  /**
   * RTP timestamps contain the capture time, because a browser computes the path's jitter from timestamps and arrival
   * times. The payloader's timestamps cannot be used, because in them all frames have the same length.
   */
  #timestampOf(capturedAtMs: number, payloaderTimestamp: number): number {
    this.#firstFrame ??= { timestamp: payloaderTimestamp, capturedAtMs };
    const { timestamp, capturedAtMs: firstMs } = this.#firstFrame;
    const ticks = Math.max(this.#lastTicks + 1, Math.round((capturedAtMs - firstMs) * RTP_TICKS_PER_MS));
    this.#lastTicks = ticks;
    return (timestamp + ticks) % 2 ** 32;
  }

  /** Frames leave the encoder in order, so all frames up to this one have left it or were dropped. */
  #dropPendingThrough(ptsMs: number): void {
    for (const key of this.#pending.keys()) {
      if (key > ptsMs) break;
      this.#pending.delete(key);
    }
  }
}

/** Parses a property's text into a boolean, a number or a text. */
function typed(text: string): number | boolean | string {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : text.slice(0, MAX_PROPERTY);
}

/** Reason of the first error among bus messages; null: there is no error. */
export function firstError(messages: readonly BusMessage[]): string | null {
  const error = messages.find((message) => message.kind === 'error');
  return error?.kind === 'error' ? `${error.source}: ${error.message}` : null;
}

function rateCaps(fps: number): string {
  return `video/x-raw,framerate=${fps}/1`;
}

function sizeCaps(row: EncoderRow, { width, height }: { width: number; height: number }): string {
  // The colorimetry is set at every size. Below 720 lines, GStreamer would otherwise use the matrix of standard
  // definition, which browsers do not use.
  return `video/x-raw,format=${row.format},colorimetry=bt709,width=${width},height=${height},pixel-aspect-ratio=1/1`;
}

function describe(display: string, row: EncoderRow, encoder: ChosenElement, target: EncodeTarget): string {
  const { fps, settings } = target;
  return [
    // The browser draws the pointer, so it is not captured. use-damage is off, because reading the whole screen by
    // shared memory is 3 ms faster at 720p than fetching damaged rectangles through the socket, and its time is
    // constant. The display is part of the description, because the source needs it for its caps when the elements are
    // linked.
    `ximagesrc name=source display-name=${display} show-pointer=false use-damage=false`,
    `! capsfilter name=rate caps=${rateCaps(fps)}`,
    '! videoconvertscale name=convert',
    `! capsfilter name=size caps=${sizeCaps(row, target)}`,
    '! tee name=raw',
    // async=false, because a sink that waits for its first frame would block the capture thread.
    'raw. ! identity name=arrival signal-handoffs=true',
    `! appsink name=tap sync=false async=false max-buffers=${settings.queue_buffers + MAX_INSIDE} drop=true`,
    `raw. ! queue name=interpipe leaky=downstream max-size-buffers=${settings.queue_buffers} max-size-bytes=0 max-size-time=0`,
    `! ${encodeBranch(row, encoder, target)}`,
    '! appsink name=packets sync=false async=false buffer-list=true',
  ].join(' ');
}
