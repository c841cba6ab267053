import { readRtpHeader } from '../../media/rtp/rtp-packet.ts';

/** NAL unit types of H.264 and H.265 that contain other units. Source: RFC 6184, 5.2; RFC 7798, 4.4. */
const FORMS = {
  h264: { headerBytes: 1, aggregate: 24, fragment: 28, typeOf: (first: number) => first & 0x1f },
  h265: { headerBytes: 2, aggregate: 48, fragment: 49, typeOf: (first: number) => (first >> 1) & 0x3f },
} as const;

/** NAL units of one picture's RTP packets, reassembled as a viewer does it. */
export function nalUnitsOfPackets(codec: 'h264' | 'h265', packets: readonly Buffer[]): Buffer[] {
  const { headerBytes, aggregate, fragment, typeOf } = FORMS[codec];
  const units: Buffer[] = [];
  let parts: Buffer[] = [];
  for (const packet of packets) {
    const payload = packet.subarray(readRtpHeader(packet)?.payloadOffset ?? 0);
    const [first = 0, second = 0] = payload;
    if (typeOf(first) === aggregate) {
      for (let at = headerBytes; at + 2 < payload.length; at += 2 + payload.readUInt16BE(at))
        units.push(payload.subarray(at + 2, at + 2 + payload.readUInt16BE(at)));
    } else if (typeOf(first) === fragment) {
      const mark = payload[headerBytes] ?? 0;
      const type = mark & (codec === 'h264' ? 0x1f : 0x3f);
      if (mark & 0x80)
        parts = [
          codec === 'h264'
            ? Buffer.of((first & 0xe0) | type)
            : Buffer.of((first & 0x81) | (type << 1), second),
        ];
      parts.push(payload.subarray(headerBytes + 1));
      if (mark & 0x40) units.push(Buffer.concat(parts));
    } else units.push(payload);
  }
  return units;
}
