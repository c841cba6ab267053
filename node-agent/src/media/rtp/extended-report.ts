/**
 * RTCP extended reports, with which a receiver measures its round trip time. The receiver sends its time, and the host
 * answers with the delay since it received this time. Without these reports, a browser that sends no media repeats a
 * request for a lost packet only after 100 ms, when the packet is too old to be sent again. Source: RFC 3611, 2, 4.4
 * and 4.5.
 */

const EXTENDED_REPORT = 207;
const HEADER_BYTES = 8;
const BLOCK_HEADER_BYTES = 4;
const REFERENCE_TIME = { type: 4, bytes: 12 };
const DELAY_SINCE_REFERENCE = { type: 5, bytes: 16 };
/** Unit of delays: 1/65536 s (4.5). */
const DELAY_UNITS_PER_MS = 65.536;
const MAX_DELAY_UNITS = 0xffff_ffff;

/** Time of a receiver. */
export interface ReferenceTime {
  /** SSRC of the receiver. */
  ssrc: number;
  /** Middle 32 bits of the receiver's NTP time. */
  middle: number;
}

export function isExtendedReport(data: Buffer): boolean {
  return data[1] === EXTENDED_REPORT;
}

/** @param data one whole RTCP packet @returns null: the packet contains no reference time */
export function readReferenceTime(data: Buffer): ReferenceTime | null {
  for (let at = HEADER_BYTES; at + BLOCK_HEADER_BYTES <= data.length; ) {
    const bytes = BLOCK_HEADER_BYTES + data.readUInt16BE(at + 2) * 4;
    if (data[at] === REFERENCE_TIME.type && bytes === REFERENCE_TIME.bytes && at + bytes <= data.length) {
      return { ssrc: data.readUInt32BE(4), middle: data.readUInt32BE(at + 6) };
    }
    at += bytes;
  }
  return null;
}

/** @param delayMs delay since the time was received */
export function writeDelaySinceReference(
  senderSsrc: number,
  { ssrc, middle }: ReferenceTime,
  delayMs: number,
): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES + DELAY_SINCE_REFERENCE.bytes);
  packet[0] = 0x80;
  packet[1] = EXTENDED_REPORT;
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  packet.writeUInt32BE(senderSsrc, 4);
  packet[HEADER_BYTES] = DELAY_SINCE_REFERENCE.type;
  packet.writeUInt16BE(DELAY_SINCE_REFERENCE.bytes / 4 - 1, HEADER_BYTES + 2);
  packet.writeUInt32BE(ssrc, 12);
  packet.writeUInt32BE(middle, 16);
  packet.writeUInt32BE(Math.min(MAX_DELAY_UNITS, Math.round(delayMs * DELAY_UNITS_PER_MS)), 20);
  return packet;
}
