import { isNewerSequence } from '../rtp/rtp-packet.ts';
import type { OutgoingPacket, RtpSender } from '../rtp/rtp-sender.ts';

/**
 * Repairs losses of the picture for one viewer.
 *
 * Requested packets are sent again within the ring's budget. A packet that is too old for that gets a keyframe at
 * once, because the viewer's picture stands still and the viewer may request a keyframe only seconds later. While
 * packets are lost, a small packet follows each frame, because the loss of a frame's last packet is otherwise visible
 * only with the next frame. Owner: the peer's media; close() once.
 */

/** A NACK within this time means that the path loses packets. */
const LOSSY_MS = 2_000;
/** Delay of that packet, so that one burst of losses does not take both. */
const TAIL_AFTER_MS = 3;
const TAIL_PADDING_BYTES = 4;
/** With a longer queue the last packet of a frame is late, not lost. */
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
  /** Whether the send queue is empty. */
  isIdle(): boolean;
  send(packet: Pick<OutgoingPacket, 'data' | 'transportSequence'>): void;
  onKeyframeWanted(): void;
}

export class LossRepair {
  readonly #options: LossRepairOptions;
  #askedAtMs: number | null = null;
  /** First sequence number of the newest keyframe; null = none sent. */
  #startSequence: number | null = null;
  #tail: NodeJS.Timeout | null = null;

  constructor(options: LossRepairOptions) {
    this.#options = options;
  }

  /** A packet of the picture was sent. @param startsKeyframe whether it starts a keyframe */
  sent({ sequence, marker }: Pick<OutgoingPacket, 'sequence' | 'marker'>, startsKeyframe: boolean): void {
    if (startsKeyframe) this.#startSequence = sequence;
    if (this.#tail) clearTimeout(this.#tail);
    this.#tail = marker && this.#isLossy() ? setTimeout(() => this.#sendTail(), TAIL_AFTER_MS) : null;
  }

  /** Handles a NACK. @returns retransmitted packets (count) */
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

  /** Whether the picture depends on this packet: no keyframe was sent after it. */
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
