/**
 * Reads, checks and repairs the connectivity checks of ICE. Pure; never throws, because anybody can send the bytes.
 * Source: RFC 8489 (STUN), RFC 8445, 16.1 (attributes of ICE).
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const HEADER_BYTES = 20;
const MAGIC_COOKIE = 0x2112a442;
const BINDING_REQUEST = 0x0001;
const BINDING_ERROR = 0x0111;
const USERNAME = 0x0006;
const MESSAGE_INTEGRITY = 0x0008;
const ERROR_CODE = 0x0009;
const PRIORITY = 0x0024;
const FINGERPRINT = 0x8028;
const ICE_CONTROLLED = 0x8029;
const ICE_CONTROLLING = 0x802a;
/** Size of an attribute's type and length. */
const ATTRIBUTE_HEADER_BYTES = 4;
const HMAC_BYTES = 20;
const FINGERPRINT_BYTES = 4;
const PRIORITY_BYTES = 4;
const TIE_BREAKER_BYTES = 8;
/**
 * Priority of a repaired path: above every peer-reflexive candidate of a browser, whose type preference is 110, so that
 * the library prefers it to the same relay without repair.
 */
export const REPAIRED_PRIORITY = 126 * 2 ** 24;
/** RFC 8489, 14.7. */
const FINGERPRINT_XOR = 0x5354554e;
/** Longest user name: two fragments of at most 256 characters each, and a colon (RFC 8839, 5.4). */
const MAX_USERNAME_BYTES = 513;

/** A binding request with a user name and a message integrity. Offsets are in bytes from the start of the packet. */
export interface BindingRequest {
  packet: Buffer;
  /** The receiver's fragment: the part of the user name before the colon. */
  ufrag: string;
  /** Offset of the attribute MESSAGE-INTEGRITY, with its type and length. */
  integrityAt: number;
  /** Offset of the priority's value; null: the request has none. */
  priorityAt: number | null;
  /** Offset of the tie-breaker's value; null: the request has none. */
  tieBreakerAt: number | null;
  hasFingerprint: boolean;
}

/** @returns null: the packet is no binding request of ICE */
export function readBindingRequest(packet: Buffer): BindingRequest | null {
  if (packet.length < HEADER_BYTES || packet.length % 4 !== 0) return null;
  if (packet.readUInt16BE(0) !== BINDING_REQUEST || packet.readUInt32BE(4) !== MAGIC_COOKIE) return null;
  if (packet.readUInt16BE(2) !== packet.length - HEADER_BYTES) return null;
  let ufrag: string | null = null;
  let integrityAt: number | null = null;
  let priorityAt: number | null = null;
  let tieBreakerAt: number | null = null;
  let hasFingerprint = false;
  for (let at = HEADER_BYTES; at < packet.length; ) {
    const type = packet.readUInt16BE(at);
    const bytes = packet.readUInt16BE(at + 2);
    const valueAt = at + ATTRIBUTE_HEADER_BYTES;
    // Attributes are padded to a multiple of 4 bytes.
    const next = valueAt + bytes + ((4 - (bytes % 4)) % 4);
    if (next > packet.length) return null;
    if (integrityAt !== null) {
      // After the message integrity, receivers ignore all attributes except the fingerprint.
      if (type === FINGERPRINT && bytes === FINGERPRINT_BYTES && next === packet.length)
        hasFingerprint = true;
    } else if (type === MESSAGE_INTEGRITY) {
      if (bytes !== HMAC_BYTES) return null;
      integrityAt = at;
    } else if (type === USERNAME) {
      if (bytes > MAX_USERNAME_BYTES) return null;
      ufrag = packet.toString('latin1', valueAt, valueAt + bytes).split(':')[0] ?? null;
    } else if (type === PRIORITY) {
      if (bytes !== PRIORITY_BYTES) return null;
      priorityAt = valueAt;
    } else if (type === ICE_CONTROLLED || type === ICE_CONTROLLING) {
      if (bytes !== TIE_BREAKER_BYTES) return null;
      tieBreakerAt = valueAt;
    }
    at = next;
  }
  if (ufrag === null || ufrag === '' || integrityAt === null) return null;
  return { packet, ufrag, integrityAt, priorityAt, tieBreakerAt, hasFingerprint };
}

/** Whether the sender knows the receiver's password. */
export function isAuthentic({ packet, integrityAt }: BindingRequest, pwd: string): boolean {
  const valueAt = integrityAt + ATTRIBUTE_HEADER_BYTES;
  return timingSafeEqual(
    integrityOf(packet, integrityAt, pwd),
    packet.subarray(valueAt, valueAt + HMAC_BYTES),
  );
}

/**
 * Replaces the tie-breaker 0 by 1, raises the priority, and computes message integrity and fingerprint again. Chromium
 * sends 0 on TURN relays over TCP and TLS, and libjuice (node-datachannel 0.33.4) takes 0 for a missing attribute and
 * refuses the request. The value does not matter, because browser and host never claim the same role.
 * @param pwd the receiver's password
 * @returns the same packet if its tie-breaker is not 0
 */
export function repairRequest(request: BindingRequest, pwd: string): Buffer {
  const { packet, integrityAt, priorityAt, tieBreakerAt, hasFingerprint } = request;
  if (tieBreakerAt === null || packet.readBigUInt64BE(tieBreakerAt) !== 0n) return packet;
  const repaired = Buffer.from(packet);
  repaired.writeBigUInt64BE(1n, tieBreakerAt);
  if (priorityAt !== null) repaired.writeUInt32BE(REPAIRED_PRIORITY, priorityAt);
  integrityOf(repaired, integrityAt, pwd).copy(repaired, integrityAt + ATTRIBUTE_HEADER_BYTES);
  if (hasFingerprint) {
    const at = repaired.length - FINGERPRINT_BYTES;
    const sum = crc32(repaired.subarray(0, at - ATTRIBUTE_HEADER_BYTES));
    repaired.writeUInt32BE((sum ^ FINGERPRINT_XOR) >>> 0, at);
  }
  return repaired;
}

/** The answer 400 to a binding request; null: the packet is none. */
export function refusalOf(packet: Buffer): Buffer | null {
  if (packet.length < HEADER_BYTES || packet.readUInt16BE(0) !== BINDING_REQUEST) return null;
  const attribute = Buffer.from([ERROR_CODE >> 8, ERROR_CODE & 0xff, 0, 4, 0, 0, 4, 0]);
  const answer = Buffer.concat([packet.subarray(0, HEADER_BYTES), attribute]);
  answer.writeUInt16BE(BINDING_ERROR, 0);
  answer.writeUInt16BE(attribute.length, 2);
  return answer;
}

/** HMAC-SHA1 of the message up to the attribute; the length in the header includes the attribute (RFC 8489, 14.5). */
function integrityOf(packet: Buffer, integrityAt: number, pwd: string): Buffer {
  const signed = Buffer.from(packet.subarray(0, integrityAt));
  signed.writeUInt16BE(integrityAt + ATTRIBUTE_HEADER_BYTES + HMAC_BYTES - HEADER_BYTES, 2);
  return createHmac('sha1', pwd).update(signed).digest();
}
