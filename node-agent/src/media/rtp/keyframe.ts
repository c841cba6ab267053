import type { Codec } from '@footlight/protocol';
import { AV1_NEW_SEQUENCE } from '../encode/av1-packetizer.ts';
import { readRtpHeader } from './rtp-packet.ts';

/** NAL unit types. Source: RFC 6184, 5.2 (H.264); RFC 7798, 4.4 (H.265). */
const H264_IDR = 5;
const H264_SPS = 7;
const H264_STAP_A = 24;
const H264_FU_A = 28;
/** NAL unit types of H.265: 16-23 are random-access pictures, 32 is the first kind of parameter set. */
const H265_RANDOM_ACCESS = [16, 17, 18, 19, 20, 21, 22, 23, 32];
const H265_AGGREGATE = 48;
const H265_FRAGMENT = 49;

/**
 * Whether the packets of a frame are a keyframe. The first packets of a keyframe contain the parameter sets.
 * @param packets RTP packets of one frame, in order
 * Source: RFC 6184 (5.4) for H.264, RFC 7798 (4.4) for H.265, the AOM's RTP payload format for AV1 (4.4).
 */
export function isKeyframe(codec: Codec, packets: readonly Buffer[]): boolean {
  return packets.some((packet) => {
    const offset = readRtpHeader(packet)?.payloadOffset;
    return offset !== undefined && STARTS_KEYFRAME[codec](packet.subarray(offset));
  });
}

const STARTS_KEYFRAME: Readonly<Record<Codec, (payload: Buffer) => boolean>> = {
  h264: (payload) => h264Types(payload).some((type) => type === H264_IDR || type === H264_SPS),
  h265: (payload) => h265Types(payload).some((type) => H265_RANDOM_ACCESS.includes(type)),
  av1: (payload) => ((payload[0] ?? 0) & AV1_NEW_SEQUENCE) !== 0,
};

/** NAL unit types in a packet, including those in aggregates and fragments. */
function h264Types(payload: Buffer): number[] {
  const type = (payload[0] ?? 0) & 0x1f;
  if (type === H264_STAP_A) return aggregated(payload, 1).map((header) => header & 0x1f);
  return [type === H264_FU_A ? (payload[1] ?? 0) & 0x1f : type];
}

function h265Types(payload: Buffer): number[] {
  const type = ((payload[0] ?? 0) >> 1) & 0x3f;
  if (type === H265_AGGREGATE) return aggregated(payload, 2).map((header) => (header >> 1) & 0x3f);
  return [type === H265_FRAGMENT ? (payload[2] ?? 0) & 0x3f : type];
}

/** First header byte of each NAL unit in an aggregate. A two-byte size precedes each unit. */
function aggregated(payload: Buffer, from: number): number[] {
  const headers: number[] = [];
  for (let at = from; at + 2 < payload.length; at += 2 + payload.readUInt16BE(at)) {
    headers.push(payload[at + 2] ?? 0);
  }
  return headers;
}
