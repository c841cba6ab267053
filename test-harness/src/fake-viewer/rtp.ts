/** Parses RTP packets and restores their order. Source: RFC 3550, sections 5.1 and A.1. */

export interface RtpPacket {
  payloadType: number;
  marker: boolean;
  /** 16 bits, wraps */
  sequence: number;
  /** 32 bits, wraps */
  timestamp: number;
  ssrc: number;
  payload: Buffer;
  /** header extension elements by id (one-byte and two-byte form, RFC 8285) */
  extensions: Map<number, Buffer>;
}

/** @returns null for RTCP and for malformed packets */
export function parseRtp(packet: Buffer): RtpPacket | null {
  const first = packet[0] ?? 0;
  const second = packet[1] ?? 0;
  // RTCP shares the transport. Its packet types occupy the range of marked payload types 64–95 (RFC 5761, section 4).
  if (packet.length < 12 || first >> 6 !== 2 || (second >= 192 && second <= 223)) return null;
  let offset = 12 + 4 * (first & 0x0f);
  const extensions = new Map<number, Buffer>();
  if ((first & 0x10) !== 0) {
    if (packet.length < offset + 4) return null;
    const profile = packet.readUInt16BE(offset);
    const length = 4 * packet.readUInt16BE(offset + 2);
    const end = offset + 4 + length;
    if (packet.length < end) return null;
    readExtensions(packet.subarray(offset + 4, end), profile, extensions);
    offset = end;
  }
  let end = packet.length;
  if ((first & 0x20) !== 0) end -= packet[packet.length - 1] ?? 0;
  if (end < offset) return null;
  return {
    payloadType: second & 0x7f,
    marker: (second & 0x80) !== 0,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: packet.subarray(offset, end),
    extensions,
  };
}

function readExtensions(block: Buffer, profile: number, into: Map<number, Buffer>): void {
  const oneByte = profile === 0xbede;
  if (!oneByte && profile >> 4 !== 0x100) return;
  for (let at = 0; at < block.length; ) {
    const head = block[at] ?? 0;
    if (head === 0) {
      at += 1;
      continue;
    }
    const id = oneByte ? head >> 4 : head;
    if (oneByte && id === 15) return;
    const length = oneByte ? (head & 0x0f) + 1 : (block[at + 1] ?? 0);
    const start = at + (oneByte ? 1 : 2);
    into.set(id, block.subarray(start, start + length));
    at = start + length;
  }
}

/** A missing packet counts as lost when this many later packets wait for it. */
const MAX_WAITING = 64;

/** Returns packets in sequence order, each once. */
export class Reorder {
  /** packets that never arrived */
  lost = 0;
  #next: number | null = null;
  #waiting = new Map<number, RtpPacket>();

  push(packet: RtpPacket): RtpPacket[] {
    this.#next ??= packet.sequence;
    const ahead = (packet.sequence - this.#next) & 0xffff;
    // The packet is late or a duplicate. Half of the number space counts as earlier.
    if (ahead >= 0x8000) return [];
    this.#waiting.set(packet.sequence, packet);
    const ready = this.#drain();
    while (this.#waiting.size > MAX_WAITING) {
      this.lost += 1;
      this.#next = ((this.#next ?? 0) + 1) & 0xffff;
      ready.push(...this.#drain());
    }
    return ready;
  }

  #drain(): RtpPacket[] {
    const ready: RtpPacket[] = [];
    while (this.#next !== null) {
      const packet = this.#waiting.get(this.#next);
      if (packet === undefined) break;
      this.#waiting.delete(this.#next);
      this.#next = (this.#next + 1) & 0xffff;
      ready.push(packet);
    }
    return ready;
  }
}
