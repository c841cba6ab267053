/** Writes a receiver's RTCP feedback. */

import { EXTENSION_ID } from '../webrtc/rtp-extensions.ts';

/** Offset of the receiver's clock to the sender's, in milliseconds. */
const RECEIVER_OFFSET_MS = 123_456;

/** Transport-wide sequence number of a packet; null: the packet has none. */
export function transportSequence(data: Buffer): number | null {
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

/**
 * Feedback about `count` packets, starting with `base`; null: the packet was not received. For simplicity, each packet
 * has its own chunk and a large delta.
 */
export function writeTransportCc(
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

/** A receiver report for one stream. */
export function writeReceiverReport(
  ssrc: number,
  { packetsLost, highestSequence }: { packetsLost: number; highestSequence: number },
): Buffer {
  const packet = Buffer.alloc(32);
  packet[0] = 0x81;
  packet[1] = 201;
  packet.writeUInt16BE(7, 2);
  packet.writeUInt32BE(ssrc, 8);
  packet.writeIntBE(packetsLost, 13, 3);
  packet.writeUInt32BE(highestSequence, 16);
  return packet;
}

/** A picture loss indication (PLI): the receiver lost a picture. Source: RFC 4585, 6.3.1. */
export function writePictureLoss(ssrc: number): Buffer {
  const packet = Buffer.alloc(12);
  packet.set([0x81, 206, 0, 2]);
  packet.writeUInt32BE(1, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}
