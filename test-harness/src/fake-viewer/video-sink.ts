/** Counts and optionally decodes the video of one viewer over all its connections. */
import type { Clock } from '@footlight/platform';
import { type Picture, PictureDecoder } from './decoder.ts';
import { type AccessUnit, type NalCodec, NalDepacketizer } from './nal-units.ts';
import { parseRtp, Reorder } from './rtp.ts';

export interface VideoCounters {
  packets: number;
  bytes: number;
  /** complete access units */
  frames: number;
  keyframes: number;
  lost: number;
  damaged: number;
}

/** Number of frame times that are kept. */
const MAX_ARRIVALS = 10_000;
/** Number of seconds whose frame counts are kept. */
const MAX_SECONDS = 3_600;

export class VideoSink {
  readonly counters: VideoCounters = { packets: 0, bytes: 0, frames: 0, keyframes: 0, lost: 0, damaged: 0 };
  /** complete frames in each second since the first; the last entry is the current second */
  readonly perSecond: number[] = [];
  /** header extension elements of the newest packet */
  extensions = new Map<number, Buffer>();
  picture: Picture | null = null;
  #reorder = new Reorder();
  #codec: NalCodec = 'h264';
  #depacketizer = new NalDepacketizer('h264');
  #decoder: PictureDecoder | null = null;
  #payloadType = -1;
  #startedAtMs: number | null = null;
  #arrivals: number[] = [];
  #waiting: { wants(picture: Picture): boolean; take(picture: Picture): void }[] = [];
  #awaited: { frames: number; resolve(): void }[] = [];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #onDamaged: () => void;

  /** @param onDamaged called to request a keyframe, because later pictures cannot be decoded */
  constructor(clock: Pick<Clock, 'monotonicMs'>, onDamaged: () => void) {
    this.#clock = clock;
    this.#onDamaged = onDamaged;
  }

  /** Starts a new connection: packet numbers restart, counters continue. */
  restart(video: { codec: NalCodec; payloadType: number } | null): void {
    this.#payloadType = video?.payloadType ?? -1;
    this.#codec = video?.codec ?? 'h264';
    this.#reorder = new Reorder();
    this.#depacketizer = new NalDepacketizer(this.#codec);
  }

  /** Starts to decode at the next keyframe. Pictures are scaled to this size. */
  decode(width: number, height: number): void {
    this.#decoder ??= new PictureDecoder(this.#codec, width, height, (picture) => {
      this.picture = picture;
      const ready = this.#waiting.filter((waiter) => waiter.wants(picture));
      this.#waiting = this.#waiting.filter((waiter) => !ready.includes(waiter));
      for (const waiter of ready) waiter.take(picture);
    });
  }

  /** Next picture that `wants` accepts. The caller sets the deadline. */
  nextPicture(wants: (picture: Picture) => boolean = () => true): Promise<Picture> {
    return new Promise((resolve) => this.#waiting.push({ wants, take: resolve }));
  }

  /** Resolves when this many frames have arrived since the start. The caller sets the deadline. */
  reached(frames: number): Promise<void> {
    if (this.counters.frames >= frames) return Promise.resolve();
    return new Promise((resolve) => this.#awaited.push({ frames, resolve }));
  }

  /**
   * Times at which complete frames arrived since the last call, monotonic ms. If there are too many, only the newest
   * times.
   */
  takeArrivals(): number[] {
    return this.#arrivals.splice(0);
  }

  /** Number of decoded pictures, and the decoder's state. */
  decoded(): string {
    return this.#decoder === null ? 'no decoder' : this.#decoder.describe();
  }

  push(bytes: Buffer): void {
    const packet = parseRtp(bytes);
    if (packet === null || packet.payloadType !== this.#payloadType) return;
    this.counters.packets += 1;
    this.counters.bytes += bytes.length;
    this.extensions = packet.extensions;
    // Padding probes have no payload, so they are skipped.
    if (packet.payload.length === 0) return;
    const lostBefore = this.#reorder.lost;
    const damagedBefore = this.#depacketizer.damaged;
    for (const ordered of this.#reorder.push(packet)) {
      const unit = this.#depacketizer.push(ordered);
      if (unit !== null) this.#take(unit);
    }
    this.counters.lost += this.#reorder.lost - lostBefore;
    this.counters.damaged += this.#depacketizer.damaged - damagedBefore;
    if (this.#depacketizer.damaged > damagedBefore) this.#onDamaged();
  }

  async close(): Promise<void> {
    this.#waiting = [];
    this.#awaited = [];
    await this.#decoder?.close();
  }

  #take(unit: AccessUnit): void {
    const nowMs = this.#clock.monotonicMs();
    this.#startedAtMs ??= nowMs;
    const second = Math.floor((nowMs - this.#startedAtMs) / 1000);
    if (second < MAX_SECONDS) {
      while (this.perSecond.length <= second) this.perSecond.push(0);
      this.perSecond[second] = (this.perSecond[second] ?? 0) + 1;
    }
    this.counters.frames += 1;
    this.#arrivals.push(nowMs);
    if (this.#arrivals.length > MAX_ARRIVALS) this.#arrivals.shift();
    const due = this.#awaited.filter(({ frames }) => frames <= this.counters.frames);
    this.#awaited = this.#awaited.filter((one) => !due.includes(one));
    for (const { resolve } of due) resolve();
    if (unit.keyframe) this.counters.keyframes += 1;
    this.#decoder?.push(unit.data);
  }
}
