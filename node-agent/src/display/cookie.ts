import { writeFile } from 'node:fs/promises';

const COOKIE_NAME = 'MIT-MAGIC-COOKIE-1';
const FAMILY_WILD = 0xffff;
export const COOKIE_BYTES = 16;

/**
 * Content of an Xauthority file with one cookie for all displays, because the file is written before the display number
 * is known. The server and its clients read this file. Source: Xauth(3): family, then address, display number, name and
 * data, each with a 16-bit big-endian length.
 */
export function xauthorityFile(cookie: Buffer): Buffer {
  const family = Buffer.alloc(2);
  family.writeUInt16BE(FAMILY_WILD);
  return Buffer.concat([family, counted(''), counted(''), counted(COOKIE_NAME), counted(cookie)]);
}

function counted(value: string | Buffer): Buffer {
  const data = Buffer.from(value as string);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([length, data]);
}

export async function writeCookie(path: string, cookie: Buffer): Promise<void> {
  await writeFile(path, xauthorityFile(cookie), { mode: 0o600 });
}

/**
 * First bytes of an X connection with this cookie, in little-endian order. Source: X Window System Protocol,
 * "Connection Setup".
 */
export function setupRequest(cookie: Buffer): Buffer {
  const name = Buffer.from(COOKIE_NAME);
  const head = Buffer.alloc(12);
  head.write('l', 0, 'latin1');
  head.writeUInt16LE(11, 2);
  head.writeUInt16LE(name.length, 6);
  head.writeUInt16LE(cookie.length, 8);
  return Buffer.concat([head, padded(name), padded(cookie)]);
}

function padded(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
}
