import { AV1_CONTINUED, AV1_CONTINUES, readLeb128 } from '../encode/av1-packetizer.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';

/**
 * The OBUs in the packets of one temporal unit, in order, without size fields.
 * @throws when the packets are inconsistent
 * Source: "RTP Payload Format For AV1", 4.
 */
export function depacketizeAv1(packets: readonly Buffer[]): Buffer[] {
  const obus: Buffer[] = [];
  let open: Buffer | null = null;
  for (const packet of packets) {
    const payload = packet.subarray(readRtpHeader(packet)?.payloadOffset ?? packet.length);
    const header = payload[0] ?? 0;
    const elements = elementsOf(payload, (header >> 4) & 3);
    if (((header & AV1_CONTINUES) !== 0) !== (open !== null)) throw new Error('a fragment is missing');
    elements.forEach((element, index) => {
      const whole: Buffer = open ? Buffer.concat([open, element]) : element;
      open = null;
      if (index === elements.length - 1 && header & AV1_CONTINUED) open = whole;
      else obus.push(whole);
    });
  }
  if (open) throw new Error('the last fragment is missing');
  return obus;
}

function elementsOf(payload: Buffer, count: number): Buffer[] {
  const elements: Buffer[] = [];
  for (let at = 1; at < payload.length; ) {
    const isLast = count > 0 && elements.length === count - 1;
    const length = isLast ? { value: payload.length - at, bytes: 0 } : readLeb128(payload, at);
    if (!length) throw new Error('an element has no length');
    at += length.bytes;
    if (at + length.value > payload.length) throw new Error('an element is longer than its packet');
    elements.push(payload.subarray(at, at + length.value));
    at += length.value;
  }
  return elements;
}

/** Converts OBUs to the stream that a parser reads: a temporal delimiter, then each OBU with its size. */
export function toObuStream(obus: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.from([0x12, 0]),
    ...obus.map((obu) => {
      const headerBytes = (obu[0] ?? 0) & 0x04 ? 2 : 1;
      const size = obu.length - headerBytes;
      const field: number[] = [];
      for (let left = size; ; left = Math.floor(left / 0x80)) {
        field.push(left > 0x7f ? (left & 0x7f) | 0x80 : left);
        if (left <= 0x7f) break;
      }
      const header = Buffer.from(obu.subarray(0, headerBytes));
      header[0] = (header[0] ?? 0) | 0x02;
      return Buffer.concat([header, Buffer.from(field), obu.subarray(headerBytes)]);
    }),
  ]);
}
