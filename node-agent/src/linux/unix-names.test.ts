import { expect, test } from 'vitest';
import { holdAbstractName, isHeldByAgent, listNamedSockets, parseDiagAnswer } from './unix-names.ts';

/** Answer of Linux 6.18: a listening socket with a path, a socket without a name, and the end. */
const ANSWER = Buffer.concat([
  message(
    20,
    '01010a00344500000100000000000000',
    attribute(0, Buffer.from('/run/x')),
    attribute(7, uid(1000)),
  ),
  message(20, '01010100314400000200000000000000', attribute(6, Buffer.from([0])), attribute(7, uid(0))),
  message(3, '00000000'),
]);

function uid(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function attribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc((4 + value.length + 3) & ~3);
  bytes.writeUInt16LE(4 + value.length, 0);
  bytes.writeUInt16LE(type, 2);
  value.copy(bytes, 4);
  return bytes;
}

function message(type: number, body: string, ...attributes: Buffer[]): Buffer {
  const payload = Buffer.concat([Buffer.from(body, 'hex'), ...attributes]);
  const header = Buffer.alloc(16);
  header.writeUInt32LE(16 + payload.length, 0);
  header.writeUInt16LE(type, 4);
  return Buffer.concat([header, payload]);
}

test('sockets with a name, their inode and their user are read from the answer', () => {
  expect(parseDiagAnswer(ANSWER)).toEqual({
    sockets: [{ name: '/run/x', inode: 0x4534, uid: 1000 }],
    last: true,
  });
});

test('any bytes are parsed without an exception', () => {
  for (let length = 0; length < ANSWER.length; length++) {
    for (const value of [0, 1, 255]) {
      const bytes = Buffer.from(ANSWER.subarray(0, length));
      if (length > 0) bytes[length - 1] = value;
      try {
        parseDiagAnswer(bytes);
      } catch (error) {
        expect(String(error)).toMatch(/errno|range/);
      }
    }
  }
});

test('a held name is listed with its inode and user, and can be held once', async () => {
  const name = `footlight-test-${process.pid}`;
  const held = holdAbstractName(name);
  if (held === null) throw new Error('the name is taken');
  try {
    expect(holdAbstractName(name)).toBe(null);
    expect(isHeldByAgent(held.inode)).toBe(true);
    expect((await listNamedSockets()).find((socket) => socket.name === `\0${name}`)).toEqual({
      name: `\0${name}`,
      inode: held.inode,
      uid: process.getuid?.(),
    });
  } finally {
    held.release();
    held.release();
  }
  expect(isHeldByAgent(held.inode)).toBe(false);
  expect((await listNamedSockets()).some((socket) => socket.name === `\0${name}`)).toBe(false);
});

test('all sockets are listed, even if they need several answers', async () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `footlight-many-${process.pid}-${index}`);
  const held = names.map((name) => holdAbstractName(name));
  try {
    const listed = new Set((await listNamedSockets()).map(({ name }) => name));
    expect(names.filter((name) => !listed.has(`\0${name}`))).toEqual([]);
  } finally {
    for (const each of held) each?.release();
  }
});
