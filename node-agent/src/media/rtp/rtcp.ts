/**
 * RTCP in both directions: parses a receiver's feedback with werift-rtp, and writes sender reports. Never throws on
 * remote bytes; unreadable packets are counted.
 * Source: RFC 3550 (6.4), RFC 4585, RFC 5104. Transport-wide feedback: transport-cc.ts; round trip of the receiver:
 * extended-report.ts.
 */

import {
  GenericNack,
  PictureLossIndication,
  ReceiverEstimatedMaxBitrate,
  RtcpPacketConverter,
  RtcpPayloadSpecificFeedback,
  RtcpRrPacket,
  RtcpSrPacket,
  RtcpTransportLayerFeedback,
} from 'werift-rtp';
import { writeNtp } from '../webrtc/rtp-extensions.ts';
import { isExtendedReport, type ReferenceTime, readReferenceTime } from './extended-report.ts';
import { readTransportCc } from './transport-cc.ts';

export type RtcpFeedback =
  | { kind: 'pli' | 'fir' }
  | { kind: 'nack'; ssrc: number; lost: number[] }
  | { kind: 'remb'; bitrateKbps: number }
  | { kind: 'report'; report: ReceptionReport }
  | { kind: 'time'; time: ReferenceTime }
  | { kind: 'transport'; arrivals: PacketArrival[] };

export interface ReceptionReport {
  ssrc: number;
  /** Number of lost packets since the start; negative when duplicates arrived. */
  packetsLost: number;
  /** Highest received sequence number; its wraps are counted in the upper bits. */
  highestSequence: number;
  /** Jitter in timestamp units of the track's clock. */
  jitter: number;
  /** Middle 32 bits of the NTP time of the last sender report; 0: no sender report was received. */
  lastSenderReport: number;
  /** Time since this sender report, in 1/65536 s. */
  delaySinceLast: number;
}

export interface PacketArrival {
  /** Transport-wide sequence number. */
  sequence: number;
  /** Arrival time by the receiver's clock, in milliseconds; null: not received. */
  receivedAtMs: number | null;
}

export interface RtcpResult {
  feedback: RtcpFeedback[];
  /** Number of unreadable packets. */
  malformed: number;
}

/** RFC 3550, 6.4.1. */
const RTCP_HEADER_BYTES = 4;
/** Largest number of packets per datagram, which limits the work. Browsers send a few. Chosen, not measured. */
const MAX_PACKETS_PER_COMPOUND = 32;

/** @param data a whole compound packet, received from the network */
export function readRtcp(data: Buffer): RtcpResult {
  const result: RtcpResult = { feedback: [], malformed: 0 };
  let offset = 0;
  for (let count = 0; offset < data.length; count++) {
    const bytes = packetBytes(data, offset);
    if (bytes === null || count === MAX_PACKETS_PER_COMPOUND) {
      result.malformed++;
      break;
    }
    // Parses each packet separately, so that a wrong length inside one packet cannot affect the next one.
    readPacket(data.subarray(offset, offset + bytes), result);
    offset += bytes;
  }
  return result;
}

function packetBytes(data: Buffer, offset: number): number | null {
  if (data.length - offset < RTCP_HEADER_BYTES) return null;
  if ((data[offset] ?? 0) >> 6 !== 2) return null;
  const bytes = RTCP_HEADER_BYTES + data.readUInt16BE(offset + 2) * 4;
  return bytes <= data.length - offset ? bytes : null;
}

function readPacket(data: Buffer, result: RtcpResult): void {
  try {
    // Parsed here, because the library skips vectors of symbols, which report the losses.
    if (isTransportCc(data)) {
      const arrivals = readTransportCc(data);
      if (arrivals) result.feedback.push({ kind: 'transport', arrivals });
      else result.malformed++;
      return;
    }
    if (isExtendedReport(data)) {
      const time = readReferenceTime(data);
      if (time) result.feedback.push({ kind: 'time', time });
      return;
    }
    if (isFullIntraRequest(data)) result.feedback.push({ kind: 'fir' });
    for (const packet of RtcpPacketConverter.deSerialize(data)) {
      if (packet instanceof RtcpRrPacket || packet instanceof RtcpSrPacket) {
        for (const report of packet.reports)
          result.feedback.push({ kind: 'report', report: readReport(report) });
      } else if (packet instanceof RtcpPayloadSpecificFeedback) {
        const feedback = readPayloadFeedback(packet.feedback);
        if (feedback) result.feedback.push(feedback);
      } else if (packet instanceof RtcpTransportLayerFeedback) {
        const feedback = readTransportFeedback(packet.feedback);
        if (feedback) result.feedback.push(feedback);
      }
    }
  } catch {
    result.malformed++;
  }
}

/** RFC 4585, 6.3; RFC 5104, 4.3.1. */
const PAYLOAD_FEEDBACK = 206;
const FULL_INTRA_REQUEST_FORMAT = 4;

/** Detects a full intra request (FIR) by its header, because the library does not support it. */
function isFullIntraRequest(data: Buffer): boolean {
  return data[1] === PAYLOAD_FEEDBACK && ((data[0] ?? 0) & 0x1f) === FULL_INTRA_REQUEST_FORMAT;
}

/** RFC 4585, 6.2; draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1. */
const TRANSPORT_LAYER_FEEDBACK = 205;
const TRANSPORT_CC_FORMAT = 15;

function isTransportCc(data: Buffer): boolean {
  return data[1] === TRANSPORT_LAYER_FEEDBACK && ((data[0] ?? 0) & 0x1f) === TRANSPORT_CC_FORMAT;
}

function readReport(report: RtcpRrPacket['reports'][number]): ReceptionReport {
  return {
    ssrc: report.ssrc,
    // The number has 24 bits and is signed, but the library reads it as unsigned.
    packetsLost: (report.packetsLost << 8) >> 8,
    highestSequence: report.highestSequence,
    jitter: report.jitter,
    lastSenderReport: report.lsr,
    delaySinceLast: report.dlsr,
  };
}

function readPayloadFeedback(feedback: unknown): RtcpFeedback | null {
  if (feedback instanceof PictureLossIndication) return { kind: 'pli' };
  if (feedback instanceof ReceiverEstimatedMaxBitrate) {
    return { kind: 'remb', bitrateKbps: Number(feedback.bitrate) / 1000 };
  }
  return null;
}

function readTransportFeedback(feedback: unknown): RtcpFeedback | null {
  if (feedback instanceof GenericNack) {
    return { kind: 'nack', ssrc: feedback.mediaSourceSsrc, lost: feedback.lost };
  }
  return null;
}

export interface SenderReportFacts {
  ssrc: number;
  cname: string;
  /** Wall-clock time in epoch milliseconds, and the RTP timestamp of the same moment. */
  nowMs: number;
  rtpTimestamp: number;
  packets: number;
  payloadBytes: number;
}

/** Writes a compound packet that consists of a sender report and a source description. */
export function writeSenderReport(facts: SenderReportFacts): Buffer {
  const name = Buffer.from(facts.cname, 'utf8').subarray(0, 255);
  // SSRC, item type, length, name and end, padded to a 32-bit word.
  const chunkBytes = Math.ceil((4 + 2 + name.length + 1) / 4) * 4;
  const packet = Buffer.alloc(28 + 4 + chunkBytes);
  packet[0] = 0x80;
  packet[1] = 200;
  packet.writeUInt16BE(6, 2);
  packet.writeUInt32BE(facts.ssrc, 4);
  writeNtp(packet, 8, facts.nowMs);
  packet.writeUInt32BE(facts.rtpTimestamp >>> 0, 16);
  packet.writeUInt32BE(facts.packets >>> 0, 20);
  packet.writeUInt32BE(facts.payloadBytes >>> 0, 24);
  packet[28] = 0x81;
  packet[29] = 202;
  packet.writeUInt16BE(chunkBytes / 4, 30);
  packet.writeUInt32BE(facts.ssrc, 32);
  packet[36] = 1;
  packet[37] = name.length;
  name.copy(packet, 38);
  return packet;
}

/**
 * Round trip time from a reception report.
 * @returns milliseconds; null: no sender report was received, or the clocks are implausible
 * Source: RFC 3550, 6.4.1.
 */
export function roundTripMs(report: ReceptionReport, nowMs: number): number | null {
  if (report.lastSenderReport === 0) return null;
  const now = Buffer.alloc(8);
  writeNtp(now, 0, nowMs);
  const middle = now.readUInt32BE(2);
  const units = (middle - report.lastSenderReport - report.delaySinceLast) | 0;
  const ms = (units / 65536) * 1000;
  return ms < -1 || ms > 60_000 ? null : Math.max(0, ms);
}
