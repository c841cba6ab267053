import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTransportCc } from './transport-cc.ts';

/** A feedback packet with the given bytes of chunks and deltas. */
function feedback(
  base: number,
  count: number,
  reference: number,
  chunks: number[],
  deltas: number[],
): Buffer {
  const body = Buffer.alloc(16);
  body.writeUInt16BE(base, 8);
  body.writeUInt16BE(count, 10);
  body.writeIntBE(reference, 12, 3);
  const words = Buffer.alloc(chunks.length * 2);
  chunks.forEach((chunk, i) => {
    words.writeUInt16BE(chunk, i * 2);
  });
  const raw = Buffer.concat([Buffer.from([0x8f, 205, 0, 0]), body, words, Buffer.from(deltas)]);
  const packet = Buffer.concat([raw, Buffer.alloc((4 - (raw.length % 4)) % 4)]);
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  return packet;
}

describe('transport-wide feedback', () => {
  test('a run of small deltas: times add up from the reference, in quarters of a millisecond', () => {
    expect(readTransportCc(feedback(10, 3, 2, [(1 << 13) | 3], [4, 8, 1]))).toEqual([
      { sequence: 10, receivedAtMs: 129 },
      { sequence: 11, receivedAtMs: 131 },
      { sequence: 12, receivedAtMs: 131.25 },
    ]);
  });

  test('a vector of one-bit symbols: missing packets have no time and take no delta', () => {
    // The symbols 1 0 1; the other eleven of the fourteen are not used.
    const chunk = 0x8000 | (0b101 << 11);
    expect(readTransportCc(feedback(0xffff, 3, 0, [chunk], [4, 4]))).toEqual([
      { sequence: 0xffff, receivedAtMs: 1 },
      { sequence: 0, receivedAtMs: null },
      { sequence: 1, receivedAtMs: 2 },
    ]);
  });

  test('a vector of two-bit symbols: large deltas have a sign', () => {
    // The symbols small, large, missing.
    const chunk = 0xc000 | (0b01 << 12) | (0b10 << 10);
    expect(readTransportCc(feedback(5, 3, 1, [chunk], [4, 0xff, 0xfc]))).toEqual([
      { sequence: 5, receivedAtMs: 65 },
      { sequence: 6, receivedAtMs: 64 },
      { sequence: 7, receivedAtMs: null },
    ]);
  });

  test('chunks of all three kinds follow one another', () => {
    const run = (0 << 13) | 2;
    const bits = 0x8000 | (0b11 << 12);
    const arrivals = readTransportCc(feedback(0, 16 + 1, 0, [run, bits, (1 << 13) | 1], [4, 4, 4]));
    expect(arrivals?.map(({ receivedAtMs }) => receivedAtMs)).toEqual([
      null,
      null,
      1,
      2,
      ...new Array(12).fill(null),
      3,
    ]);
  });

  test.each([
    ['no packets', feedback(0, 0, 0, [], [])],
    ['more packets than in a second', feedback(0, 5000, 0, [(0 << 13) | 5000], [])],
    ['fewer chunks than packets', feedback(0, 100, 0, [(0 << 13) | 2], [])],
    ['fewer deltas than arrivals', feedback(0, 40, 0, [(1 << 13) | 40], [1, 1])],
    ['a packet cut short', feedback(0, 1, 0, [(1 << 13) | 1], [1]).subarray(0, 18)],
  ])('%s is refused', (_why, packet) => {
    expect(readTransportCc(packet)).toBeNull();
  });

  test('for any bytes it does not throw, and returns no more packets than the status count', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const packet = Buffer.from(bytes);
        const arrivals = readTransportCc(packet);
        expect(arrivals === null || arrivals.length === packet.readUInt16BE(14)).toBe(true);
      }),
    );
  });
});
