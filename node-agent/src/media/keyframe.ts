import { readRtpHeader } from './rtp-packet.ts';

const H264_STAP_A = 24;
const H264_FU_A = 28;
const H264_IDR = 5;
const H264_SPS = 7;
const H265_AGGREGATE = 48;
const H265_FRAGMENT = 49;
const H265_VPS = 32;

/**
 * Whether a frame's packets start a keyframe: with parameter sets in band, its first packet carries them.
 * @param packets RTP packets of one frame, in order
 * Source: RFC 6184 (5.4) for H.264, RFC 7798 (4.4) for H.265. AV1 has no payloader here and counts as keyframe.
 */
export function isKeyframe(codec: 'h264' | 'h265' | 'av1', packets: readonly Buffer[]): boolean {
  if (codec === 'av1') return true;
  for (const packet of packets) {
    const type = firstNalType(codec, packet);
    if (codec === 'h264' && (type === H264_IDR || type === H264_SPS)) return true;
    // 16–23 are the random-access pictures, 32 opens the parameter sets.
    if (codec === 'h265' && ((type >= 16 && type <= 23) || type === H265_VPS)) return true;
  }
  return false;
}

/** NAL unit type of what a packet carries, the inner one of aggregates and fragments; -1 when it is too short. */
function firstNalType(codec: 'h264' | 'h265', packet: Buffer): number {
  const offset = readRtpHeader(packet)?.payloadOffset;
  if (offset === undefined) return -1;
  const first = packet[offset] ?? 0;
  if (codec === 'h264') {
    const type = first & 0x1f;
    if (type === H264_STAP_A) return (packet[offset + 3] ?? 0) & 0x1f;
    return type === H264_FU_A ? (packet[offset + 1] ?? 0) & 0x1f : type;
  }
  const type = (first >> 1) & 0x3f;
  if (type === H265_AGGREGATE) return ((packet[offset + 4] ?? 0) >> 1) & 0x3f;
  return type === H265_FRAGMENT ? (packet[offset + 2] ?? 0) & 0x3f : type;
}
