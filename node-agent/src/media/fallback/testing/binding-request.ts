import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface RequestFields {
  username: string;
  pwd: string;
  tieBreaker?: bigint;
  role?: 'controlled' | 'controlling';
  fingerprint?: boolean;
  priority?: number;
}

/** A connectivity check as a browser sends it. Written apart from stun.ts, so that a mistake there is found. */
export function bindingRequest({
  username,
  pwd,
  tieBreaker,
  role = 'controlled',
  fingerprint = true,
  priority = 110 * 2 ** 24,
}: RequestFields): Buffer {
  const attributes = [attribute(0x0006, Buffer.from(username)), attribute(0x0024, uint32(priority))];
  if (tieBreaker !== undefined) {
    const value = Buffer.alloc(8);
    value.writeBigUInt64BE(tieBreaker);
    attributes.push(attribute(role === 'controlled' ? 0x8029 : 0x802a, value));
  }
  const header = Buffer.alloc(20, 7);
  header.writeUInt16BE(0x0001, 0);
  header.writeUInt32BE(0x2112a442, 4);
  const withLength = (bytes: number) => {
    const body = Buffer.concat([header, ...attributes]);
    body.writeUInt16BE(body.length - 20 + bytes, 2);
    return body;
  };
  attributes.push(attribute(0x0008, createHmac('sha1', pwd).update(withLength(24)).digest()));
  if (!fingerprint) return withLength(0);
  const sum = uint32((crc32(withLength(8)) ^ 0x5354554e) >>> 0);
  attributes.push(attribute(0x8028, sum));
  return withLength(0);
}

function attribute(type: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(type, 0);
  header.writeUInt16BE(value.length, 2);
  return Buffer.concat([header, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
