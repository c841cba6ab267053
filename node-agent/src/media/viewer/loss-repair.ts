import type { Clock, Timer } from '@footlight/platform';
import { isNewerSequence } from '../rtp/rtp-packet.ts';
import type { OutgoingPacket, RtpSender } from '../rtp/rtp-sender.ts';

/** A NACK within this time means that the path loses packets. */
const LOSSY_MS = 2_000;
/** Delay of that packet, so that one burst of losses does not hit both. */
const TAIL_AFTER_MS = 3;
/** The smallest padding that keeps the packet's length a multiple of 32 bits; its content does not matter. */
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
  clock: Clock;
  path(): RepairPath;
  /** Whether the send queue is empty. */
  isIdle(): boolean;
  send(packet: Pick<OutgoingPacket, 'data' | 'transportSequence'>): void;
  onKeyframeWanted(): void;
}

/**
 * Repairs losses of the picture for one viewer.
 *
 * Requested packets are sent again within the ring's budget. A packet that is too old for that gets a keyframe at once,
 * because the viewer's picture is frozen and the viewer may request a keyframe only seconds later. While packets are
 * lost, a small packet follows each frame, because the loss of a frame's last packet is otherwise visible only with the
 * next frame. Owner: the peer's media; close() once.
 */
export class LossRepair {
  readonly #options: LossRepairOptions;
  #nackAtMs: number | null = null;
  /** First sequence number of the newest keyframe; null = none sent. */
  #startSequence: number | null = null;
  #tail: Timer | null = null;
  readonly #tailIsDue = () => this.#sendTail();

  constructor(options: LossRepairOptions) {
    this.#options = options;
  }

  /** A packet of the picture was sent. @param startsKeyframe whether it starts a keyframe */
  sent({ sequence, marker }: Pick<OutgoingPacket, 'sequence' | 'marker'>, startsKeyframe: boolean): void {
    if (startsKeyframe) this.#startSequence = sequence;
    this.#tail?.cancel();
    this.#tail =
      marker && this.#isLossy() ? this.#options.clock.setTimeout(this.#tailIsDue, TAIL_AFTER_MS) : null;
  }

  /** Handles a NACK. @returns retransmitted packets (count) */
  onNack(lost: readonly number[]): number {
    const { sender, clock, path, send, onKeyframeWanted } = this.#options;
    const nowMs = clock.monotonicMs();
    const { kbps, rttMs, queueingDelayMs } = path();
    this.#nackAtMs = nowMs;
    sender.ring?.setRate(kbps);
    const { packets, gone } = sender.retransmit(lost, nowMs, rttMs, queueingDelayMs);
    for (const packet of packets) send(packet);
    if (gone.some((sequence) => this.#isNeeded(sequence))) onKeyframeWanted();
    return packets.length;
  }

  close(): void {
    this.#tail?.cancel();
    this.#tail = null;
  }

  /** Whether the picture depends on this packet: no keyframe was sent after it. */
  #isNeeded(sequence: number): boolean {
    return this.#startSequence !== null && !isNewerSequence(this.#startSequence, sequence);
  }

  #isLossy(): boolean {
    return this.#nackAtMs !== null && this.#options.clock.monotonicMs() - this.#nackAtMs < LOSSY_MS;
  }

  #sendTail(): void {
    this.#tail = null;
    const { sender, clock, path, isIdle, send } = this.#options;
    if (!isIdle() || path().queueingDelayMs > CALM_QUEUE_MS) return;
    const packet = sender.pad(clock.monotonicMs(), TAIL_PADDING_BYTES);
    if (packet) send(packet);
  }
}
