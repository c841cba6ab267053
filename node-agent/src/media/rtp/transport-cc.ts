/**
 * Parses transport-wide congestion control feedback. Never throws on remote bytes. An inconsistent packet is refused
 * completely, because all times after a misread part would be wrong. Source:
 * draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1.
 */

import type { PacketArrival } from './rtcp.ts';

/** Length of the RTCP header. Source of the layout: RFC 4585, 6.1, and the draft above. */
const HEADER_BYTES = 4;
/** Length of SSRCs, base sequence number, status count, reference time and feedback count. */
const FIXED_BYTES = 16;
/** Milliseconds per unit of the reference time (3.1), and per unit of a receive delta (3.1.5). */
const REFERENCE_UNIT_MS = 64;
const DELTA_UNIT_MS = 0.25;
/** Largest number of packets in a feedback, because feedback about more than a second is useless. */
const MAX_PACKETS = 4096;

enum Status {
  Missing = 0,
  SmallDelta = 1,
  LargeDelta = 2,
}

/**
 * @param packet one whole RTCP packet of type 205, format 15, with its header
 * @returns every reported packet in sending order; null: the feedback is unreadable
 */
export function readTransportCc(packet: Buffer): PacketArrival[] | null {
  if (packet.length < HEADER_BYTES + FIXED_BYTES) return null;
  const first = packet.readUInt16BE(12);
  const count = packet.readUInt16BE(14);
  if (count === 0 || count > MAX_PACKETS) return null;
  const statuses: Status[] = [];
  let offset = HEADER_BYTES + FIXED_BYTES;
  while (statuses.length < count) {
    if (offset + 2 > packet.length) return null;
    readChunk(packet.readUInt16BE(offset), count, statuses);
    offset += 2;
  }
  // Read as signed, so that differences stay right when the reference time wraps.
  let atMs = packet.readIntBE(16, 3) * REFERENCE_UNIT_MS;
  const arrivals: PacketArrival[] = [];
  for (const [index, status] of statuses.entries()) {
    const sequence = (first + index) & 0xffff;
    if (status === Status.Missing) {
      arrivals.push({ sequence, receivedAtMs: null });
      continue;
    }
    const bytes = status === Status.SmallDelta ? 1 : 2;
    if (offset + bytes > packet.length) return null;
    atMs += (bytes === 1 ? packet.readUInt8(offset) : packet.readInt16BE(offset)) * DELTA_UNIT_MS;
    offset += bytes;
    arrivals.push({ sequence, receivedAtMs: atMs });
  }
  return arrivals;
}

/** Adds the statuses of one 16-bit chunk. A vector may have unused symbols at its end. */
function readChunk(chunk: number, count: number, statuses: Status[]): void {
  const left = count - statuses.length;
  if ((chunk & 0x8000) === 0) {
    const status = statusOf((chunk >> 13) & 0b11);
    const run = Math.min(left, chunk & 0x1fff);
    // A run of length zero counts as one packet; otherwise the loop would never end.
    if (run === 0) statuses.push(Status.Missing);
    for (let i = 0; i < run; i++) statuses.push(status);
    return;
  }
  const bits = (chunk & 0x4000) === 0 ? 1 : 2;
  const symbols = 14 / bits;
  for (let i = 0; i < Math.min(left, symbols); i++) {
    statuses.push(statusOf((chunk >> (14 - bits * (i + 1))) & (bits === 1 ? 1 : 0b11)));
  }
}

/** The fourth symbol is reserved and contains no time. */
function statusOf(symbol: number): Status {
  if (symbol === 1) return Status.SmallDelta;
  return symbol === 2 ? Status.LargeDelta : Status.Missing;
}
