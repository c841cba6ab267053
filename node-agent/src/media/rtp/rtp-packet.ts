/**
 * Reads the RTP packets of GStreamer's payloaders (version 2, no padding, no extension) and sets their timestamp.
 * Source: RFC 3550, 5.1.
 */

export const RTP_HEADER_BYTES = 12;

export interface RtpHeader {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  /** Offset of the payload in bytes; contributing sources and an extension precede it. */
  payloadOffset: number;
}

/** @returns null when the bytes are not an RTP version 2 packet */
export function readRtpHeader(packet: Buffer): RtpHeader | null {
  if (packet.length < RTP_HEADER_BYTES) return null;
  const first = packet[0] ?? 0;
  if (first >> 6 !== 2) return null;
  let payloadOffset = RTP_HEADER_BYTES + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (packet.length < payloadOffset + 4) return null;
    payloadOffset += 4 + packet.readUInt16BE(payloadOffset + 2) * 4;
  }
  if (payloadOffset > packet.length) return null;
  const second = packet[1] ?? 0;
  return {
    marker: (second & 0x80) !== 0,
    payloadType: second & 0x7f,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    payloadOffset,
  };
}

/** @param timestamp 32 bits */
export function writeRtpTimestamp(packet: Buffer, timestamp: number): void {
  packet.writeUInt32BE(timestamp, 4);
}

/** Whether sequence number `a` is newer than `b`, even when the numbers wrap. Source: RFC 1982 with 16 bits. */
export function isNewerSequence(a: number, b: number): boolean {
  const distance = (a - b) & 0xffff;
  return distance !== 0 && distance < 0x8000;
}
