import {
  type ExtensionName,
  type ExtensionValues,
  extensionBytes,
  writeExtensions,
} from '../webrtc/rtp-extensions.ts';
import type { RetransmitRing } from './nack-ring.ts';
import { RTP_HEADER_BYTES, readRtpHeader } from './rtp-packet.ts';

/** Counter of transport-wide sequence numbers, shared by all tracks of a peer connection. */
export class TransportSequence {
  #next: number;

  constructor(first: number) {
    this.#next = first & 0xffff;
  }

  take(): number {
    const value = this.#next;
    this.#next = (value + 1) & 0xffff;
    return value;
  }
}

/** Largest number of padding bytes; the length is stored in one byte (RFC 3550, 5.1). */
const PADDING_BYTES = 255;

/** Random initial values of a track on a peer connection. */
export interface RtpIdentity {
  ssrc: number;
  payloadType: number;
  firstSequence: number;
  timestampOffset: number;
}

export interface OutgoingPacket {
  data: Buffer;
  sequence: number;
  timestamp: number;
  marker: boolean;
  transportSequence: number | null;
}

/**
 * Converts a payloader's packets into those of one track of one peer connection: own SSRC, payload type, contiguous
 * sequence numbers and timestamps, and the header extensions of the answer. If there is a ring, sent packets are stored
 * in it for retransmission.
 */
export class RtpSender {
  readonly identity: RtpIdentity;
  readonly ring: RetransmitRing | null;
  readonly #transport: TransportSequence;
  #accepted: ReadonlySet<ExtensionName> = new Set();
  #sequence: number;
  #packets = 0;
  #payloadBytes = 0;
  #lastTimestamp = 0;
  #betweenFrames = false;

  constructor(identity: RtpIdentity, transport: TransportSequence, ring: RetransmitRing | null) {
    this.identity = identity;
    this.ring = ring;
    this.#transport = transport;
    this.#sequence = identity.firstSequence & 0xffff;
  }

  /** Sets the header extensions of the answer; other extensions are not written. */
  accept(extensions: ReadonlySet<ExtensionName>): void {
    this.#accepted = extensions;
  }

  /** Values for sender reports: number of packets and payload bytes, and the last RTP timestamp. */
  get sent(): { packets: number; payloadBytes: number; timestamp: number } {
    return { packets: this.#packets, payloadBytes: this.#payloadBytes, timestamp: this.#lastTimestamp };
  }

  /** Converts a payloader's timestamp to a timestamp of this track. */
  mapTimestamp(timestamp: number): number {
    return (timestamp + this.identity.timestampOffset) >>> 0;
  }

  /**
   * @param packet packet of the payloader; it is not changed, because other peer connections use it too
   * @param values header extension values; the transport-wide number is added here
   * @returns null: the bytes are not an RTP packet
   */
  wrap(
    packet: Buffer,
    values: Omit<ExtensionValues, 'transportSequence'>,
    nowMs: number,
  ): OutgoingPacket | null {
    const header = readRtpHeader(packet);
    if (!header) return null;
    const stamped: ExtensionValues = {
      playoutDelay: this.#accepted.has('playoutDelay') ? values.playoutDelay : undefined,
      captureTimeMs: this.#accepted.has('captureTime') ? values.captureTimeMs : undefined,
      transportSequence: this.#accepted.has('transportSequence') ? this.#transport.take() : undefined,
    };

    const room = extensionBytes(stamped);
    const payload = packet.subarray(header.payloadOffset);
    const sequence = this.#sequence;
    const data = this.#memory(sequence, RTP_HEADER_BYTES + room + payload.length);
    const timestamp = this.mapTimestamp(header.timestamp);
    data[0] = 0x80 | (room > 0 ? 0x10 : 0);
    data[1] = (header.marker ? 0x80 : 0) | this.identity.payloadType;
    data.writeUInt16BE(sequence, 2);
    data.writeUInt32BE(timestamp, 4);
    data.writeUInt32BE(this.identity.ssrc, 8);
    const transportSequenceAt = writeExtensions(data, RTP_HEADER_BYTES, stamped);
    payload.copy(data, RTP_HEADER_BYTES + room);

    this.#sequence = (sequence + 1) & 0xffff;
    this.#packets++;
    this.#payloadBytes += payload.length;
    this.#lastTimestamp = timestamp;
    this.#betweenFrames = header.marker;
    this.ring?.keep({ data, sequence, sentAtMs: nowMs, transportSequenceAt });
    return {
      data,
      sequence,
      timestamp,
      marker: header.marker,
      transportSequence: stamped.transportSequence ?? null,
    };
  }

  #memory(sequence: number, bytes: number): Buffer {
    return this.ring?.room(sequence, bytes) ?? Buffer.allocUnsafe(bytes);
  }

  /**
   * Creates a padding packet after the last packet of a frame. It has a sequence number, so a receiver can request it
   * again.
   * @param bytes number of padding bytes, 1–255
   * @returns null: the last frame is not complete, so a receiver would treat the padding as a part of the picture
   * Source: RFC 3550, 5.1.
   */
  pad(nowMs: number, bytes = PADDING_BYTES): Pick<OutgoingPacket, 'data' | 'transportSequence'> | null {
    if (!this.#betweenFrames || !this.#accepted.has('transportSequence')) return null;
    const stamped = { transportSequence: this.#transport.take() };
    const room = extensionBytes(stamped);
    const sequence = this.#sequence;
    const data = this.#memory(sequence, RTP_HEADER_BYTES + room + bytes).fill(0);
    data[0] = 0x80 | 0x20 | 0x10;
    data[1] = this.identity.payloadType;
    data.writeUInt16BE(sequence, 2);
    data.writeUInt32BE(this.#lastTimestamp, 4);
    data.writeUInt32BE(this.identity.ssrc, 8);
    const transportSequenceAt = writeExtensions(data, RTP_HEADER_BYTES, stamped);
    data[data.length - 1] = bytes;
    this.#sequence = (sequence + 1) & 0xffff;
    this.#packets++;
    this.ring?.keep({ data, sequence, sentAtMs: nowMs, transportSequenceAt });
    return { data, transportSequence: stamped.transportSequence };
  }

  /**
   * Packets that answer a NACK, limited by the ring's budget, each with a new transport-wide number.
   * @param lost sequence numbers that the receiver misses
   * @returns `gone`: sequence numbers that will never be sent again
   */
  retransmit(
    lost: readonly number[],
    nowMs: number,
    rttMs: number,
    queueingDelayMs = 0,
  ): { packets: Pick<OutgoingPacket, 'data' | 'transportSequence'>[]; gone: number[] } {
    if (!this.ring) return { packets: [], gone: [] };
    const { packets, gone } = this.ring.answer(lost, nowMs, rttMs, queueingDelayMs);
    const again = packets.map(({ data, transportSequenceAt }) => {
      if (transportSequenceAt === null) return { data, transportSequence: null };
      const transportSequence = this.#transport.take();
      data.writeUInt16BE(transportSequence, transportSequenceAt);
      return { data, transportSequence };
    });
    return { packets: again, gone };
  }
}
