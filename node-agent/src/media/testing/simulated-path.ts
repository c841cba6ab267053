import type { Track } from 'node-datachannel';
import { EXTENSION_ID } from '../rtp-extensions.ts';
import { readRtpHeader } from '../rtp-packet.ts';

/**
 * A link with a queue that drops at its end, and a receiver behind it that answers with transport-wide feedback: in
 * simulated time, for tests of rate control. Time moves by advance(), one millisecond a step.
 */

export interface Delivered {
  atMs: number;
  sequence: number;
  timestamp: number;
  bytes: number;
  marker: boolean;
  isPadding: boolean;
}

/** UDP, IP and SRTP around each packet, bytes. */
const OVERHEAD_BYTES = 42;
const FEEDBACK_MS = 60;
const ONE_WAY_MS = 2;
/** The receiver's clock has another origin. */
const RECEIVER_OFFSET_MS = 123_456;

export class SimulatedPath {
  kbps: number;
  readonly delivered: Delivered[] = [];
  /** Packets that the full queue refused (count). */
  dropped = 0;
  /** 0–1, lost at random behind the queue. */
  loss = 0;
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

  get track(): Track {
    const track = {
      isOpen: () => true,
      onMessage: (listener: (data: Buffer) => void) => {
        this.#listener = listener;
      },
      sendMessageBinary: (data: Buffer) => this.#send(data),
    };
    return track as unknown as Track;
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
      this.#arrive(next.data);
    }
    if (this.#nowMs % FEEDBACK_MS === 0) this.#feedBack();
  }

  #send(data: Buffer): boolean {
    const header = readRtpHeader(data);
    // Sender reports and the like are small and have no place here.
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

function transportSequence(data: Buffer): number | null {
  if (((data[0] ?? 0) & 0x10) === 0) return null;
  const end = 16 + data.readUInt16BE(14) * 4;
  for (let at = 16; at < end; ) {
    const head = data[at] ?? 0;
    if (head === 0) {
      at++;
      continue;
    }
    if (head >> 4 === EXTENSION_ID.transportSequence) return data.readUInt16BE(at + 1);
    at += 2 + (head & 0x0f);
  }
  return null;
}

/** One chunk a packet and large deltas: not short, but simple. */
function writeTransportCc(
  base: number,
  count: number,
  arrivalMs: (sequence: number) => number | null,
): Buffer {
  const times = Array.from({ length: count }, (_, i) => arrivalMs((base + i) & 0xffff));
  const first = (times.find((time) => time !== null) ?? 0) + RECEIVER_OFFSET_MS;
  const reference = Math.floor(first / 64);
  let atUnits = reference * 64 * 4;
  const chunks = Buffer.alloc(count * 2);
  const deltas: Buffer[] = [];
  times.forEach((time, i) => {
    chunks.writeUInt16BE(((time === null ? 0 : 2) << 13) | 1, i * 2);
    if (time === null) return;
    const units = Math.round((time + RECEIVER_OFFSET_MS) * 4);
    const delta = Buffer.alloc(2);
    delta.writeInt16BE(units - atUnits);
    atUnits = units;
    deltas.push(delta);
  });
  const fixed = Buffer.alloc(20);
  fixed[0] = 0x8f;
  fixed[1] = 205;
  fixed.writeUInt16BE(base, 12);
  fixed.writeUInt16BE(count, 14);
  fixed.writeUIntBE(reference, 16, 3);
  const raw = Buffer.concat([fixed, chunks, ...deltas]);
  const packet = Buffer.concat([raw, Buffer.alloc((4 - (raw.length % 4)) % 4)]);
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  return packet;
}
