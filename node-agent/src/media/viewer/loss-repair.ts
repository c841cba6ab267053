import type { Clock, Timer } from '@footlight/platform';
import { isNewerSequence } from '../rtp/rtp-packet.ts';
import type { OutgoingPacket, RtpSender } from '../rtp/rtp-sender.ts';

/** Time after a NACK during which the path counts as losing packets. */
const LOSSY_MS = 2_000;
/** Delay of the additional small packet, so that one burst of losses does not affect both packets. */
const TAIL_AFTER_MS = 3;
/** The smallest padding that keeps the packet's length a multiple of 32 bits. Its content is not used. */
const TAIL_PADDING_BYTES = 4;
/** Queueing delay above which the last packet of a frame is probably late instead of lost. */
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
 * Requested packets are sent again within the ring's budget. If a packet is too old to be sent again, a keyframe is
 * made at once, because the viewer's picture is frozen and the viewer may request a keyframe only seconds later. While
 * packets are lost, a small packet is sent after each frame. Otherwise a receiver would detect the loss of a frame's
 * last packet only with the next frame. Owner: the peer's media; close() once.
 */
export class LossRepair {
  readonly #options: LossRepairOptions;
  #nackAtMs: number | null = null;
  /** First sequence number of the newest keyframe; null: no keyframe was sent. */
  #startSequence: number | null = null;
  #tail: Timer | null = null;
  readonly #tailIsDue = () => this.#sendTail();

  constructor(options: LossRepairOptions) {
    this.#options = options;
  }

  /**
   * Called when a packet of the picture was sent.
   * @param startsKeyframe whether the packet is the first of a keyframe
   */
  sent({ sequence, marker }: Pick<OutgoingPacket, 'sequence' | 'marker'>, startsKeyframe: boolean): void {
    if (startsKeyframe) this.#startSequence = sequence;
    this.#tail?.cancel();
    this.#tail =
      marker && this.#isLossy() ? this.#options.clock.setTimeout(this.#tailIsDue, TAIL_AFTER_MS) : null;
  }

  /** Handles a NACK. @returns the number of packets that were sent again */
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

  /** Whether the picture depends on this packet, because no keyframe was sent after it. */
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
