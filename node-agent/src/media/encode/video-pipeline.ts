import { type BusMessage, type MediaBuffer, Pipeline } from '@footlight/gst';
import { delay, systemClock } from '@footlight/platform';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import type { MediaClock } from '../session/media-clock.ts';
import { effortProperties } from './encoder-effort.ts';
import {
  type ChosenElement,
  chooseElement,
  configureEncoder,
  encodeBranch,
  writeRate,
} from './encoder-elements.ts';
import type { EncoderRow, EncodeTarget } from './encoders.ts';
import { PAYLOADING, packetMaker } from './payloading.ts';

/**
 * Capture, conversion, encoding and payloading of one session's picture.
 *
 *   X display → ximagesrc → convert → tee ┬→ arrival → tap (when did a frame reach the encoder)
 *                                         └→ queue → encoder → parser → payloader → packets
 *
 * AV1 has no payloader: the pipeline gives temporal units, and they are made into packets here.
 *
 * The queue lets capture and encoder run on different cores and drops the oldest frame when the encoder falls
 * behind. Packets wake the event loop, captured frames do not: they are looked at with the packets, and when the queue
 * is full because none come. Owner: the media session; start() once, dispose() once.
 */

/** One encoded frame as it left the payloader. */
export interface EncodedFrame {
  packets: Buffer[];
  /** RTP timestamp of the payloader, 90 kHz from the start of the pipeline. */
  rtpTimestamp: number;
  /** Presentation time, milliseconds of running time; null when the payloader lost it. */
  ptsMs: number | null;
  /** Monotonic milliseconds at which the picture was taken. */
  capturedAtMs: number;
  /** Time from the encoder's input to its packets, milliseconds; null when the input was not seen. */
  encodeMs: number | null;
  /** Bytes of all packets. */
  bytes: number;
}

export interface CapturedFrame {
  /** Presentation time, milliseconds of running time. */
  ptsMs: number;
  /** Monotonic milliseconds at which it reached the encoder's queue. */
  arrivedAtMs: number;
  /** Frames waiting in that queue (count). */
  queueLevel: number;
}

export interface VideoPipelineEvents {
  onFrame(frame: EncodedFrame): void;
  onCaptured(frame: CapturedFrame): void;
  onError(source: string, message: string): void;
}

/** What of the picture changes while it runs. */
export interface EncodedPicture {
  /** Pixels. */
  width: number;
  height: number;
  fps: number;
  /** Steps of effort that the encoder gives up for speed. */
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

/** Frames that an encoder may hold beside those in its queue (count); while it holds more, the oldest are not told of. */
const MAX_INSIDE = 4;
/** Bound of the wait for a capture that was started again: without a frame the change goes on all the same. */
const CAPTURE_AGAIN_LIMIT_MS = 500;
/** Spacing of the looks for that frame. */
const CAPTURE_LOOK_MS = 5;
/** Frames that may be inside the encoder and still be matched to their output (count). */
const MAX_PENDING = 240;

export class VideoPipeline {
  readonly #pipeline: Pipeline;
  readonly #encoder: ChosenElement;
  readonly #toPackets: (buffer: MediaBuffer) => Buffer[];
  readonly #options: VideoPipelineOptions;
  readonly #sinceArrival: () => number;
  readonly #queueLevel: () => number;
  /** Arrival at the encoder by presentation time, oldest first. */
  readonly #pending = new Map<number, number>();
  #assembling: Buffer[] = [];
  #loop: Promise<void> = Promise.resolve();
  #sourceChange: Promise<void> = Promise.resolve();
  /** Changes that are under way or wait (count). */
  #sourceChanges = 0;
  /** What the picture becomes after them; null: it stays. */
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
    this.#pipeline.useSystemClock();
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
    this.#loop = this.#pullPackets();
  }

  /** To be called a few times a second while it runs: tells of errors, and of frames that wait for an encoder. */
  look(): void {
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

  /** New target of the encoder, kbit/s; takes effect with the next frame, where the encoder takes one at all. */
  setBitrate(bitrateKbps: number): void {
    const { element } = this.#encoder;
    if (element.rate.live) writeRate(this.#pipeline, element, bitrateKbps, this.#options.target.fps);
  }

  /**
   * Another size, frame rate and effort on the running encoder; a new size starts with a keyframe. While nothing is
   * captured the picture stays as it is, and changes once the capture runs again: a size that is set while the source
   * still settles its own would end the stream ("Internal data stream error").
   */
  setPicture(picture: EncodedPicture): void {
    if (this.#sourceChanges > 0) this.#nextPicture = picture;
    else this.#usePicture(picture);
  }

  #usePicture(picture: EncodedPicture): void {
    const { row, target } = this.#options;
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
   * Does something to the display while nothing is captured from it: a capture that asks for more than the screen has
   * ends the process. Encoder and timestamps go on, and what comes next may be of another size.
   * @throws what `work` throws, with the capture on again
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

  /** Waits until a frame has come from a source that was started again. */
  async #captureAgain(): Promise<void> {
    const { clock } = this.#options;
    const fromMs = clock.monotonicMs();
    for (let waitedMs = 0; waitedMs < CAPTURE_AGAIN_LIMIT_MS; waitedMs = clock.monotonicMs() - fromMs) {
      if (this.#stopping || this.#sinceArrival() < waitedMs) return;
      await delay(systemClock, CAPTURE_LOOK_MS);
    }
  }

  /** Whether the pointer is part of the picture, for a viewer that does not draw it itself. */
  setPointerShown(shown: boolean): void {
    this.#pipeline.element('source').setProperty('show-pointer', shown);
  }

  /** Caps of the encoder's pads and of the payloader, as text; null before the first frame and without payloader. */
  caps(): { encoderSink: string | null; encoderSrc: string | null; payloaderSrc: string | null } {
    return {
      encoderSink: this.#pipeline.element('encoder').padCaps('sink'),
      encoderSrc: this.#pipeline.element('encoder').padCaps('src'),
      payloaderSrc:
        PAYLOADING[this.#options.row.codec].payloader === null
          ? null
          : this.#pipeline.element('payloader').padCaps('src'),
    };
  }

  dot(): string {
    return this.#pipeline.dot();
  }

  async dispose(): Promise<void> {
    this.#stopping = true;
    await this.#sourceChange;
    // Going to NULL ends the pull that is under way; the loop then sees that it is to stop.
    await this.#pipeline.setState('null').catch(() => undefined);
    await this.#loop.catch(() => undefined);
    await this.#pipeline.dispose();
  }

  async #pullPackets(): Promise<void> {
    const sink = this.#pipeline.appSink('packets');
    this.#pipeline.element('interpipe').onSignal(['overrun'], () => this.#takeCaptured());
    while (!this.#stopping && !sink.ended) {
      let sample = await sink.pull();
      this.#takeCaptured();
      // One wake-up takes everything that is there: a frame comes as several samples.
      while (sample) {
        const arrivedAtMs = this.#options.clock.monotonicMs();
        const buffers = sample.read();
        sample.release();
        for (const buffer of buffers)
          for (const packet of this.#toPackets(buffer)) this.#assemble(packet, buffer.ptsMs, arrivedAtMs);
        sample = this.#stopping ? null : sink.pullNow();
      }
    }
  }

  /** Tells of the frames that came since the last time. Of several the newest one's time is known, and their distances. */
  #takeCaptured(): void {
    if (this.#stopping) return;
    const tap = this.#pipeline.appSink('tap');
    const captured: number[] = [];
    for (let sample = tap.pullNow(); sample; sample = tap.pullNow()) {
      if (sample.ptsMs !== null) captured.push(sample.ptsMs);
      sample.release();
    }
    const newestMs = captured.at(-1);
    if (newestMs === undefined) return;
    const newestAtMs = this.#options.clock.monotonicMs() - this.#sinceArrival();
    const queueLevel = this.#queueLevel();
    for (const ptsMs of captured) {
      const arrivedAtMs = newestAtMs - (newestMs - ptsMs);
      this.#pending.set(ptsMs, arrivedAtMs);
      if (this.#pending.size > MAX_PENDING) this.#dropPendingThrough(this.#pending.keys().next().value ?? 0);
      this.#options.events.onCaptured({ ptsMs, arrivedAtMs, queueLevel });
    }
  }

  #assemble(packet: Buffer, ptsMs: number | null, arrivedAtMs: number): void {
    this.#assembling.push(packet);
    const header = readRtpHeader(packet);
    if (!header?.marker) return;
    const packets = this.#assembling;
    this.#assembling = [];
    const enteredAtMs = ptsMs === null ? undefined : this.#pending.get(ptsMs);
    if (ptsMs !== null) this.#dropPendingThrough(ptsMs);
    const baseMs = this.#pipeline.baseTimeMs;
    this.#options.events.onFrame({
      packets,
      rtpTimestamp: header.timestamp,
      ptsMs,
      capturedAtMs: ptsMs === null ? arrivedAtMs : baseMs + ptsMs,
      encodeMs: enteredAtMs === undefined ? null : Math.max(0, arrivedAtMs - enteredAtMs),
      bytes: packets.reduce((sum, { length }) => sum + length, 0),
    });
  }

  /** Frames come out in order, so everything up to this one is through or was dropped. */
  #dropPendingThrough(ptsMs: number): void {
    for (const key of this.#pending.keys()) {
      if (key > ptsMs) break;
      this.#pending.delete(key);
    }
  }
}

/** Reason of the first error among bus messages; null when there is none. */
export function firstError(messages: readonly BusMessage[]): string | null {
  const error = messages.find((message) => message.kind === 'error');
  return error?.kind === 'error' ? `${error.source}: ${error.message}` : null;
}

function rateCaps(fps: number): string {
  return `video/x-raw,framerate=${fps}/1`;
}

function sizeCaps(row: EncoderRow, { width, height }: { width: number; height: number }): string {
  // Said at every size: below 720 lines GStreamer would take the matrix of standard definition, and browsers do not.
  return `video/x-raw,format=${row.format},colorimetry=bt709,width=${width},height=${height},pixel-aspect-ratio=1/1`;
}

function describe(display: string, row: EncoderRow, encoder: ChosenElement, target: EncodeTarget): string {
  const { fps, settings } = target;
  return [
    // The browser draws the pointer. Reading the whole screen from shared memory costs 3 ms less at 720p than
    // fetching damaged rectangles through the socket, and its time does not depend on what moves.
    // The display stands in the description, because linking already asks the source for its caps.
    `ximagesrc name=source display-name=${display} show-pointer=false use-damage=false`,
    `! capsfilter name=rate caps=${rateCaps(fps)}`,
    '! videoconvertscale name=convert',
    `! capsfilter name=size caps=${sizeCaps(row, target)}`,
    '! tee name=raw',
    // async=false: a sink that waits for its first frame would hold the capture thread, and the other one its frame.
    'raw. ! identity name=arrival signal-handoffs=true',
    `! appsink name=tap sync=false async=false max-buffers=${settings.queue_buffers + MAX_INSIDE} drop=true`,
    `raw. ! queue name=interpipe leaky=downstream max-size-buffers=${settings.queue_buffers} max-size-bytes=0 max-size-time=0`,
    `! ${encodeBranch(row, encoder, target)}`,
    '! appsink name=packets sync=false async=false buffer-list=true',
  ].join(' ');
}
