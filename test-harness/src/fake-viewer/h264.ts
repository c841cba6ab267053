/** From RTP payloads to H.264 access units with start codes. Source: RFC 6184, sections 5.6 to 5.8. */
import type { RtpPacket } from './rtp.ts';

export interface AccessUnit {
  timestamp: number;
  keyframe: boolean;
  /** byte stream, each NAL unit after a start code */
  data: Buffer;
}

const START_CODE = Buffer.from([0, 0, 0, 1]);
const IDR = 5;
const STAP_A = 24;
const FU_A = 28;

export class H264Depacketizer {
  /** units left out because a packet of theirs is missing */
  damaged = 0;
  #units: Buffer[] = [];
  #fragment: Buffer[] | null = null;
  #timestamp: number | null = null;
  #sequence: number | null = null;
  #broken = false;

  /** @param packet the next one in order; a gap before it spoils its access unit. @returns a finished unit, or null */
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
    const type = head & 0x1f;
    if (type === STAP_A) {
      for (let at = 1; at + 2 <= payload.length; ) {
        const size = payload.readUInt16BE(at);
        this.#units.push(payload.subarray(at + 2, at + 2 + size));
        at += 2 + size;
      }
    } else if (type === FU_A) {
      this.#takeFragment(payload);
    } else if (type >= 1 && type <= 23) {
      this.#units.push(payload);
    }
  }

  #takeFragment(payload: Buffer): void {
    const [indicator = 0, header = 0] = payload;
    if ((header & 0x80) !== 0) this.#fragment = [Buffer.from([(indicator & 0xe0) | (header & 0x1f)])];
    if (this.#fragment === null) {
      this.#broken = true;
      return;
    }
    this.#fragment.push(payload.subarray(2));
    if ((header & 0x40) === 0) return;
    this.#units.push(Buffer.concat(this.#fragment));
    this.#fragment = null;
  }

  #finish(timestamp: number): AccessUnit | null {
    const units = this.#units;
    const whole = !this.#broken && this.#fragment === null && units.length > 0;
    if (!whole) this.damaged += 1;
    this.#reset();
    if (!whole) return null;
    const keyframe = units.some((unit) => ((unit[0] ?? 0) & 0x1f) === IDR);
    return { timestamp, keyframe, data: Buffer.concat(units.flatMap((unit) => [START_CODE, unit])) };
  }

  /** The marker of the unit before was lost. */
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
