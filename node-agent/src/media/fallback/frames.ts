/** Packets in a TCP stream: a 2-byte length before each packet. Pure. Source: RFC 4571, 2. */

const LENGTH_BYTES = 2;
/** Longest packet of a browser: RTP, SCTP and DTLS stay below the usual MTU of 1500. */
export const MAX_PACKET_BYTES = 2_048;

/** Splits a stream into packets. It stores at most one incomplete packet. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #broken = false;

  /** @returns the packets that are complete now; null: a packet is too long, and the stream cannot be read further */
  read(chunk: Buffer): Buffer[] | null {
    if (this.#broken) return null;
    const packets: Buffer[] = [];
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= LENGTH_BYTES) {
      const length = bytes.readUInt16BE(0);
      if (length > MAX_PACKET_BYTES) {
        this.#broken = true;
        this.#rest = Buffer.alloc(0);
        return null;
      }
      if (bytes.length < LENGTH_BYTES + length) break;
      packets.push(bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
      bytes = bytes.subarray(LENGTH_BYTES + length);
    }
    // Copied, because a slice would keep the whole chunk in memory.
    this.#rest = Buffer.from(bytes);
    return packets;
  }
}

/** @param packet at most 65535 bytes */
export function framed(packet: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + packet.length);
  frame.writeUInt16BE(packet.length, 0);
  packet.copy(frame, LENGTH_BYTES);
  return frame;
}
