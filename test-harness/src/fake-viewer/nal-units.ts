/**
 * Reassembles H.264 or H.265 access units with start codes from RTP payloads.
 * Source: RFC 6184, sections 5.6 to 5.8; RFC 7798, sections 4.4.1 to 4.4.3.
 */
import type { RtpPacket } from './rtp.ts';

export interface AccessUnit {
  timestamp: number;
  keyframe: boolean;
  /** byte stream, each NAL unit after a start code */
  data: Buffer;
}

const START_CODE = Buffer.from([0, 0, 0, 1]);

export type NalCodec = 'h264' | 'h265';

/** Differences between the two codecs. */
interface NalRules {
  /** bytes of a NAL unit header; aggregates and fragments have this header before their own fields */
  headerBytes: number;
  type(head: number): number;
  aggregate: number;
  fragment: number;
  /** bits of the fragment header byte that contain the unit type */
  typeMask: number;
  /** true for types of NAL units that a packet may contain without fragmentation */
  isUnit(type: number): boolean;
  isKeyframe(type: number): boolean;
  /** header of a fragmented unit, from the header and the type of its first fragment */
  header(first: Buffer, type: number): Buffer;
}

const RULES: Readonly<Record<NalCodec, NalRules>> = {
  h264: {
    headerBytes: 1,
    type: (head) => head & 0x1f,
    aggregate: 24,
    fragment: 28,
    typeMask: 0x1f,
    isUnit: (type) => type >= 1 && type <= 23,
    isKeyframe: (type) => type === 5,
    header: (first, type) => Buffer.from([((first[0] ?? 0) & 0xe0) | type]),
  },
  h265: {
    headerBytes: 2,
    type: (head) => (head >> 1) & 0x3f,
    aggregate: 48,
    fragment: 49,
    typeMask: 0x3f,
    isUnit: (type) => type <= 47,
    isKeyframe: (type) => type >= 16 && type <= 23,
    header: (first, type) => Buffer.from([((first[0] ?? 0) & 0x81) | (type << 1), first[1] ?? 0]),
  },
};
/** start bit of the fragment header byte */
const STARTS = 0x80;
const ENDS = 0x40;

export class NalDepacketizer {
  readonly #rules: NalRules;
  /** units dropped because of a missing packet */
  damaged = 0;
  #units: Buffer[] = [];
  #fragment: Buffer[] | null = null;
  #timestamp: number | null = null;
  #sequence: number | null = null;
  #broken = false;

  constructor(codec: NalCodec) {
    this.#rules = RULES[codec];
  }

  /**
   * @param packet next packet in order; a gap before the packet spoils its access unit.
   * @returns a finished unit, or null
   */
  push(packet: RtpPacket): AccessUnit | null {
    if (this.#sequence !== null && packet.sequence !== ((this.#sequence + 1) & 0xffff)) this.#broken = true;
    this.#sequence = packet.sequence;
    if (this.#timestamp !== null && packet.timestamp !== this.#timestamp) this.#drop();
    this.#timestamp = packet.timestamp;
    this.#take(packet.payload);
    return packet.marker ? this.#finish(packet.timestamp) : null;
  }

  #take(payload: Buffer): void {
    const head = payload[0];
    if (head === undefined) return;
    const rules = this.#rules;
    const type = rules.type(head);
    if (type === rules.aggregate) {
      for (let at = rules.headerBytes; at + 2 <= payload.length; ) {
        const size = payload.readUInt16BE(at);
        this.#units.push(payload.subarray(at + 2, at + 2 + size));
        at += 2 + size;
      }
    } else if (type === rules.fragment) {
      this.#takeFragment(payload);
    } else if (rules.isUnit(type)) {
      this.#units.push(payload);
    }
  }

  #takeFragment(payload: Buffer): void {
    const { headerBytes, header, typeMask } = this.#rules;
    const own = payload[headerBytes] ?? 0;
    if ((own & STARTS) !== 0) this.#fragment = [header(payload, own & typeMask)];
    if (this.#fragment === null) {
      this.#broken = true;
      return;
    }
    this.#fragment.push(payload.subarray(headerBytes + 1));
    if ((own & ENDS) === 0) return;
    this.#units.push(Buffer.concat(this.#fragment));
    this.#fragment = null;
  }

  #finish(timestamp: number): AccessUnit | null {
    const units = this.#units;
    const whole = !this.#broken && this.#fragment === null && units.length > 0;
    if (!whole) this.damaged += 1;
    this.#reset();
    if (!whole) return null;
    const keyframe = units.some((unit) => this.#rules.isKeyframe(this.#rules.type(unit[0] ?? 0)));
    return { timestamp, keyframe, data: Buffer.concat(units.flatMap((unit) => [START_CODE, unit])) };
  }

  /** Drops the unit whose marker packet was lost. */
  #drop(): void {
    if (this.#units.length > 0 || this.#fragment !== null) {
      this.damaged += 1;
      this.#reset();
    }
  }

  #reset(): void {
    this.#units = [];
    this.#fragment = null;
    this.#timestamp = null;
    this.#broken = false;
  }
}
