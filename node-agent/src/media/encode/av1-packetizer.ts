import { RTP_HEADER_BYTES } from '../rtp/rtp-packet.ts';

/**
 * Bits Z, Y and N of the aggregation header. Its other field, W, is a number (MAX_COUNTED). Source: RTP Payload Format
 * for AV1, 4.4.
 */
export const AV1_CONTINUES = 0x80;
export const AV1_CONTINUED = 0x40;
export const AV1_NEW_SEQUENCE = 0x08;
/** Largest value of W. A packet with at most this number of elements needs no length for the last element. */
const MAX_COUNTED = 3;

/** OBU types, and bits in an OBU's header. Source: AV1 Bitstream & Decoding Process Specification, 6.2.2, 5.3.2. */
const OBU_SEQUENCE_HEADER = 1;
const OBU_TEMPORAL_DELIMITER = 2;
const OBU_FRAME_HEADER = 3;
const OBU_FRAME = 6;
const OBU_TILE_LIST = 8;
const OBU_PADDING = 15;
/** OBU types that are not sent in RTP. */
const LEFT_OUT: readonly number[] = [OBU_TEMPORAL_DELIMITER, OBU_TILE_LIST, OBU_PADDING];
const HAS_EXTENSION = 0x04;
const HAS_SIZE = 0x02;
const SHOWS_EXISTING = 0x80;
/** Bits of frame_type, which follow show_existing_frame; 0 means keyframe. */
const FRAME_TYPE = 0x60;

/** If fewer bytes remain in a packet, the next element starts in the next packet, to avoid tiny fragments. */
const WORTH_STARTING = 16;
const MARKER = 0x80;
const VIDEO_CLOCK_KHZ = 90;

interface Fragment {
  bytes: Buffer;
  continues: boolean;
  continued: boolean;
}

/**
 * Packs AV1 temporal units into RTP; Debian's GStreamer has no payloader for AV1.
 *
 * A packet has an aggregation header and OBU elements, each with a length except the last one. The header contains four
 * values. Z: the first element continues the previous packet. Y: the last element continues in the next packet. W:
 * number of elements; 0: more than three elements, and all have a length. N: a coded video sequence starts. Receivers
 * detect keyframes by N.
 *
 * Source: "RTP Payload Format For AV1" of the Alliance for Open Media, 4; AV1 bitstream specification, 5.3 and 5.9.2.
 */
export class Av1Packetizer {
  /** Payload bytes of a packet after the aggregation header, and bytes of the longest length field. */
  readonly #capacity: number;
  readonly #lengthBytes: number;
  readonly #payloadType: number;
  #sequence = 0;
  /** Newest sequence header. It is repeated before keyframes, because some encoders send it only once. */
  #sequenceHeader: Buffer | null = null;

  /** @param mtu largest packet with its RTP header, in bytes */
  constructor(mtu: number, payloadType: number) {
    this.#capacity = mtu - RTP_HEADER_BYTES - 1;
    this.#lengthBytes = writeLeb128(this.#capacity).length;
    this.#payloadType = payloadType;
  }

  /**
   * @param unit one temporal unit in the low-overhead format (obu-stream, alignment tu)
   * @param ptsMs presentation time, in milliseconds of running time
   * @returns the unit's packets, the last one with the marker; empty when the unit has no element for RTP
   */
  packets(unit: Buffer, ptsMs: number): Buffer[] {
    const obus = readObus(unit).filter((obu) => !LEFT_OUT.includes(obuType(obu)));
    const isKey = startsWithKeyframe(obus);
    const own = obus.find((obu) => obuType(obu) === OBU_SEQUENCE_HEADER);
    if (own) this.#sequenceHeader = own;
    else if (isKey && this.#sequenceHeader) obus.unshift(this.#sequenceHeader);
    const newSequence = isKey && obus.some((obu) => obuType(obu) === OBU_SEQUENCE_HEADER);
    const timestamp = Math.round(ptsMs * VIDEO_CLOCK_KHZ) % 2 ** 32;
    const payloads = this.#fill(obus);
    return payloads.map((fragments, index) => {
      const header = Buffer.alloc(RTP_HEADER_BYTES);
      header[0] = 0x80;
      header[1] = (index === payloads.length - 1 ? MARKER : 0) | this.#payloadType;
      header.writeUInt16BE(this.#sequence, 2);
      header.writeUInt32BE(timestamp, 4);
      this.#sequence = (this.#sequence + 1) & 0xffff;
      return Buffer.concat([header, ...writePayload(fragments, newSequence && index === 0)]);
    });
  }

  /** Distributes the OBUs over packets, and fills each packet as far as possible. */
  #fill(obus: readonly Buffer[]): Fragment[][] {
    const packets: Fragment[][] = [];
    let packet: Fragment[] = [];
    /** Bytes of the packet's elements. Every element except the last also has a length field. */
    let used = 0;
    const close = () => {
      if (packet.length > 0) packets.push(packet);
      packet = [];
      used = 0;
    };
    for (const obu of obus) {
      for (let offset = 0; offset < obu.length; ) {
        const left = obu.length - offset;
        // With more than three elements, the last one needs a length too.
        const ownLength = packet.length < MAX_COUNTED ? 0 : this.#lengthBytes;
        const room = this.#capacity - used - ownLength;
        if (packet.length > 0 && room < Math.min(left, WORTH_STARTING)) {
          close();
          continue;
        }
        const bytes = obu.subarray(offset, offset + Math.min(left, room));
        offset += bytes.length;
        packet.push({ bytes, continues: left < obu.length, continued: bytes.length < left });
        used += writeLeb128(bytes.length).length + bytes.length;
        if (bytes.length < left) close();
      }
    }
    close();
    return packets;
  }
}

function writePayload(fragments: readonly Fragment[], newSequence: boolean): Buffer[] {
  const counted = fragments.length <= MAX_COUNTED;
  const header =
    (fragments[0]?.continues ? AV1_CONTINUES : 0) |
    (fragments.at(-1)?.continued ? AV1_CONTINUED : 0) |
    (counted ? fragments.length << 4 : 0) |
    (newSequence ? AV1_NEW_SEQUENCE : 0);
  const elements = fragments.flatMap(({ bytes }, index) =>
    counted && index === fragments.length - 1 ? [bytes] : [writeLeb128(bytes.length), bytes],
  );
  return [Buffer.from([header]), ...elements];
}

function obuType(obu: Buffer): number {
  return ((obu[0] ?? 0) >> 3) & 0x0f;
}

/** Whether the first frame is a keyframe that is shown at once. */
function startsWithKeyframe(obus: readonly Buffer[]): boolean {
  const frame = obus.find((obu) => [OBU_FRAME_HEADER, OBU_FRAME].includes(obuType(obu)));
  if (!frame) return false;
  const first = frame[(frame[0] ?? 0) & HAS_EXTENSION ? 2 : 1];
  return first !== undefined && (first & (SHOWS_EXISTING | FRAME_TYPE)) === 0;
}

/**
 * The OBUs of a temporal unit without size fields, as in RTP. If a unit ends inside an OBU, the complete OBUs before it
 * are returned.
 */
export function readObus(unit: Buffer): Buffer[] {
  const obus: Buffer[] = [];
  for (let at = 0; at < unit.length; ) {
    const header = unit[at] ?? 0;
    const headerBytes = header & HAS_EXTENSION ? 2 : 1;
    let start = at + headerBytes;
    let size = unit.length - start;
    if (header & HAS_SIZE) {
      const length = readLeb128(unit, start);
      if (!length) break;
      start += length.bytes;
      size = length.value;
    }
    if (size < 0 || start + size > unit.length) break;
    const obu = Buffer.allocUnsafe(headerBytes + size);
    unit.copy(obu, 0, at, at + headerBytes);
    obu[0] = header & ~HAS_SIZE;
    unit.copy(obu, headerBytes, start, start + size);
    obus.push(obu);
    at = start + size;
  }
  return obus;
}

/** Reads a little-endian base-128 number. Source: AV1 bitstream specification, 4.10.5. */
export function readLeb128(from: Buffer, offset: number): { value: number; bytes: number } | null {
  let value = 0;
  for (let index = 0; index < 8; index++) {
    const byte = from[offset + index];
    if (byte === undefined) return null;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if ((byte & 0x80) === 0) return { value, bytes: index + 1 };
  }
  return null;
}

function writeLeb128(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    const low = left & 0x7f;
    left = Math.floor(left / 0x80);
    bytes.push(left > 0 ? low | 0x80 : low);
  } while (left > 0);
  return Buffer.from(bytes);
}
