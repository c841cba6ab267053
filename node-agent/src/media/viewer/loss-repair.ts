import { isNewerSequence } from '../rtp/rtp-packet.ts';
import type { OutgoingPacket, RtpSender } from '../rtp/rtp-sender.ts';

/**
 * What is done about packets of the picture that one viewer did not get.
 *
 * What it asks for is sent again as far as the ring's budget allows. What is too old for that it never gets: it then
 * stands still until a keyframe comes, and may ask for one only after seconds, so it gets one at once. And since
 * nothing shows that the last packet of a frame is missing until the next frame comes, a small packet follows each frame
 * while packets get lost. Owner: the peer's media; close() once.
 */

/** A request within this time means that packets get lost. */
const LOSSY_MS = 2_000;
/** Long enough that one burst of losses does not take both. */
const TAIL_AFTER_MS = 3;
const TAIL_PADDING_BYTES = 4;
/** Behind a longer queue the last packet of a frame is late, and not lost. */
const CALM_QUEUE_MS = 30;

export interface RepairPath {
  kbps: number;
  rttMs: number;
  queueingDelayMs: number;
}

export interface LossRepairOptions {
  sender: RtpSender;
  monotonicMs(): number;
  path(): RepairPath;
  /** Whether nothing else waits to be sent. */
  isIdle(): boolean;
  send(packet: Pick<OutgoingPacket, 'data' | 'transportSequence'>): void;
  onKeyframeWanted(): void;
}

export class LossRepair {
  readonly #options: LossRepairOptions;
  #askedAtMs: number | null = null;
  /** Sequence number with which the newest keyframe starts; null = none was sent. */
  #startSequence: number | null = null;
  #tail: NodeJS.Timeout | null = null;

  constructor(options: LossRepairOptions) {
    this.#options = options;
  }

  /** A packet of the picture left. @param startsKeyframe whether a keyframe starts with it */
  sent({ sequence, marker }: Pick<OutgoingPacket, 'sequence' | 'marker'>, startsKeyframe: boolean): void {
    if (startsKeyframe) this.#startSequence = sequence;
    if (this.#tail) clearTimeout(this.#tail);
    this.#tail = marker && this.#isLossy() ? setTimeout(() => this.#sendTail(), TAIL_AFTER_MS) : null;
  }

  /** The viewer misses packets. @returns how many were sent again */
  asked(lost: readonly number[]): number {
    const { sender, monotonicMs, path, send, onKeyframeWanted } = this.#options;
    const nowMs = monotonicMs();
    const { kbps, rttMs, queueingDelayMs } = path();
    this.#askedAtMs = nowMs;
    sender.ring?.setRate(kbps);
    const { packets, gone } = sender.retransmit(lost, nowMs, rttMs, queueingDelayMs);
    for (const packet of packets) send(packet);
    if (gone.some((sequence) => this.#isNeeded(sequence))) onKeyframeWanted();
    return packets.length;
  }

  close(): void {
    if (this.#tail) clearTimeout(this.#tail);
    this.#tail = null;
  }

  /** Whether a viewer without this packet cannot show what comes: no keyframe was sent after it. */
  #isNeeded(sequence: number): boolean {
    return this.#startSequence !== null && !isNewerSequence(this.#startSequence, sequence);
  }

  #isLossy(): boolean {
    return this.#askedAtMs !== null && this.#options.monotonicMs() - this.#askedAtMs < LOSSY_MS;
  }

  #sendTail(): void {
    this.#tail = null;
    const { sender, monotonicMs, path, isIdle, send } = this.#options;
    if (!isIdle() || path().queueingDelayMs > CALM_QUEUE_MS) return;
    const packet = sender.pad(monotonicMs(), TAIL_PADDING_BYTES);
    if (packet) send(packet);
  }
}
