import type { Track } from 'node-datachannel';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { transportSequence, writeReceiverReport, writeTransportCc } from './feedback.ts';

export interface Delivered {
  atMs: number;
  sequence: number;
  timestamp: number;
  bytes: number;
  marker: boolean;
  isPadding: boolean;
}

/** Bytes of the UDP, IP and SRTP headers per packet. */
const OVERHEAD_BYTES = 42;
const FEEDBACK_MS = 60;
const ONE_WAY_MS = 2;
const REPORT_MS = 1_000;

/**
 * A simulated link with a tail-drop queue, and a simulated receiver. Like a browser, the receiver sends transport-wide
 * feedback, a receiver report each second, and a report for each gap. Used for tests of rate control in simulated time;
 * advance() advances the time by one millisecond.
 */
export class SimulatedPath {
  kbps: number;
  readonly delivered: Delivered[] = [];
  /** Number of packets that the full queue dropped. */
  dropped = 0;
  /** Share of packets that are lost at random after the queue, 0-1. */
  loss = 0;
  /** Longest delay of a busy receiver, which reads only rarely, in milliseconds. */
  busyMs = 0;
  #unread: Buffer[] = [];
  #readsAtMs = 0;
  #highestSequence: number | null = null;
  #received = 0;
  #firstSequence = 0;
  #ssrc = 0;
  readonly #limitBytes: number;
  readonly #random: () => number;
  #nowMs: number;
  #queue: { data: Buffer; bytes: number }[] = [];
  #queuedBytes = 0;
  #creditBytes = 0;
  #arrivals: { sequence: number; atMs: number }[] = [];
  #nextFeedbackSequence: number | null = null;
  #listener: (data: Buffer) => void = () => undefined;

  constructor(options: { kbps: number; limitBytes: number; nowMs: number; random?: () => number }) {
    this.kbps = options.kbps;
    this.#limitBytes = options.limitBytes;
    this.#nowMs = options.nowMs;
    this.#random = options.random ?? (() => 1);
  }

  get track(): Pick<Track, 'isOpen' | 'onMessage' | 'sendMessageBinary'> {
    return {
      isOpen: () => true,
      onMessage: (listener: (data: Buffer) => void) => {
        this.#listener = listener;
      },
      sendMessageBinary: (data: Buffer) => this.#send(data),
    };
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  advance(): void {
    this.#nowMs++;
    const perMs = this.kbps / 8;
    this.#creditBytes = this.#queue.length === 0 ? Math.min(perMs, this.#creditBytes) : this.#creditBytes;
    this.#creditBytes += perMs;
    for (;;) {
      const next = this.#queue[0];
      if (!next || next.bytes > this.#creditBytes) break;
      this.#queue.shift();
      this.#creditBytes -= next.bytes;
      this.#queuedBytes -= next.bytes;
      this.#unread.push(next.data);
    }
    if (this.#nowMs >= this.#readsAtMs) {
      this.#readsAtMs = this.#nowMs + this.busyMs * this.#random();
      for (const data of this.#unread.splice(0)) this.#arrive(data);
    }
    if (this.#nowMs % REPORT_MS === 0) this.#report();
    if (this.#nowMs % FEEDBACK_MS === 0) this.#feedBack();
  }

  #send(data: Buffer): boolean {
    const header = readRtpHeader(data);
    // RTCP packets are not simulated, because they are small.
    if (!header || (header.payloadType >= 64 && header.payloadType < 96)) return true;
    const bytes = data.length + OVERHEAD_BYTES;
    if (this.#queuedBytes + bytes > this.#limitBytes) {
      this.dropped++;
      return true;
    }
    this.#queue.push({ data: Buffer.from(data), bytes });
    this.#queuedBytes += bytes;
    return true;
  }

  #arrive(data: Buffer): void {
    if (this.#random() < this.loss) return;
    const header = readRtpHeader(data);
    const sequence = transportSequence(data);
    if (!header || sequence === null) return;
    const atMs = this.#nowMs + ONE_WAY_MS;
    const { timestamp, marker } = header;
    const isPadding = ((data[0] ?? 0) & 0x20) !== 0;
    this.delivered.push({
      atMs,
      sequence: header.sequence,
      timestamp,
      bytes: data.length,
      marker,
      isPadding,
    });
    this.#arrivals.push({ sequence, atMs });
    this.#ssrc = data.readUInt32BE(8);
    if (this.#highestSequence === null) this.#firstSequence = header.sequence;
    const steps = ((header.sequence - (this.#highestSequence ?? header.sequence - 1)) << 16) >> 16;
    this.#received++;
    this.#highestSequence = (this.#highestSequence ?? header.sequence - 1) + Math.max(0, steps);
    if (steps > 1) this.#report();
  }

  #report(): void {
    if (this.#highestSequence === null) return;
    const packetsLost = this.#highestSequence - this.#firstSequence + 1 - this.#received;
    const totals = { packetsLost, highestSequence: this.#highestSequence };
    this.#listener(writeReceiverReport(this.#ssrc, totals));
  }

  #feedBack(): void {
    const newest = this.#arrivals.at(-1);
    if (!newest) return;
    const base = this.#nextFeedbackSequence ?? this.#arrivals[0]?.sequence ?? 0;
    const count = ((newest.sequence - base) & 0xffff) + 1;
    this.#nextFeedbackSequence = (newest.sequence + 1) & 0xffff;
    const arrivals = new Map(this.#arrivals.map(({ sequence, atMs }) => [sequence, atMs]));
    this.#arrivals = [];
    this.#listener(writeTransportCc(base, count, (sequence) => arrivals.get(sequence) ?? null));
  }
}
