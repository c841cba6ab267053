import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isKeyframe } from '../rtp/keyframe.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { depacketizeAv1 } from '../testing/av1-depacketizer.ts';
import { Av1Packetizer, readObus } from './av1-packetizer.ts';

const MTU = 200;
const [SEQUENCE, DELIMITER, FRAME, PADDING] = [1, 2, 6, 15] as const;
const KEY = 0x10;
const DELTA = 0x30;
const SHOW_EXISTING = 0x80;

/** An OBU in the low-overhead format, with its size. */
function obu(type: number, payload: readonly number[] | Buffer): Buffer {
  const size: number[] = [];
  for (let left = payload.length; ; left >>= 7) {
    size.push(left > 0x7f ? (left & 0x7f) | 0x80 : left);
    if (left <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(type << 3) | 2, ...size]), Buffer.from(payload)]);
}

const unit = (...obus: Buffer[]) => Buffer.concat([obu(DELIMITER, []), ...obus]);
const sequence = obu(SEQUENCE, [1, 2, 3]);
const frame = (first: number, bytes: number) => obu(FRAME, [first, ...Buffer.alloc(bytes - 1, 7)]);
const hexOf = (buffers: readonly Buffer[]) => buffers.map((buffer) => buffer.toString('hex'));
const payloadOf = (packet: Buffer | undefined) => packet?.subarray(12) ?? Buffer.alloc(0);

describe('a temporal unit becomes packets', () => {
  test('a small keyframe is one packet: sequence header with its length, frame without, delimiter left out', () => {
    const [packet, ...more] = new Av1Packetizer(MTU, 96).packets(unit(sequence, frame(KEY, 4)), 0);
    expect(more).toEqual([]);
    // W = 2 and N = 1; in the OBU headers, the bit for a size field is 0.
    expect([...payloadOf(packet)]).toEqual([0x28, 4, 0x08, 1, 2, 3, 0x30, KEY, 7, 7, 7]);
  });

  test('a large frame is split: Z marks a continued element, Y one that continues, the marker the end', () => {
    const packets = new Av1Packetizer(MTU, 96).packets(unit(frame(DELTA, 400)), 1000);
    expect(packets.map((packet) => payloadOf(packet)[0])).toEqual([0x50, 0xd0, 0x90]);
    expect(packets.map((packet) => readRtpHeader(packet)?.marker)).toEqual([false, false, true]);
    expect(packets.map((packet) => packet.length)).toEqual([MTU, MTU, expect.any(Number)]);
    expect(new Set(packets.map((packet) => readRtpHeader(packet)?.timestamp))).toEqual(new Set([90_000]));
  });

  test('more than three elements: W is 0 and each has a length', () => {
    const small = obu(FRAME, [DELTA]);
    const [packet] = new Av1Packetizer(MTU, 96).packets(unit(small, small, small, small), 0);
    expect([...payloadOf(packet)]).toEqual([
      0,
      2,
      0x30,
      DELTA,
      2,
      0x30,
      DELTA,
      2,
      0x30,
      DELTA,
      2,
      0x30,
      DELTA,
    ]);
  });

  test('sequence numbers continue over frames and wrap', () => {
    const packetizer = new Av1Packetizer(MTU, 96);
    const numbers = Array.from({ length: 65_537 }, () =>
      packetizer.packets(unit(frame(DELTA, 2)), 0).map((packet) => readRtpHeader(packet)?.sequence),
    ).flat();
    expect(numbers.slice(0, 3)).toEqual([0, 1, 2]);
    expect(numbers.slice(-2)).toEqual([65_535, 0]);
  });

  test('times beyond the RTP clock wrap', () => {
    const packets = new Av1Packetizer(MTU, 96).packets(unit(frame(DELTA, 2)), (2 ** 32 + 90) / 90);
    expect(readRtpHeader(packets[0] ?? Buffer.alloc(0))?.timestamp).toBe(90);
  });
});

describe('a keyframe is recognized by its packets', () => {
  const starts = (packetizer: Av1Packetizer, ...obus: Buffer[]) =>
    isKeyframe('av1', packetizer.packets(unit(...obus), 0));

  test.each([
    [sequence, frame(KEY, 300), true, 'sequence header and keyframe'],
    [sequence, frame(DELTA, 300), false, 'a sequence header before another frame'],
    [sequence, frame(SHOW_EXISTING, 1), false, 'a frame shown again'],
    [
      obu(PADDING, [0]),
      frame(KEY, 300),
      false,
      'a keyframe without any sequence header, which no decoder can decode',
    ],
  ])('%#', (first, second, expected, what) => {
    expect(starts(new Av1Packetizer(MTU, 96), first, second), what).toBe(expected);
  });

  test('if an encoder sends its sequence header only once, it is repeated before keyframes', () => {
    const packetizer = new Av1Packetizer(MTU, 96);
    packetizer.packets(unit(sequence, frame(KEY, 4)), 0);
    const packets = packetizer.packets(unit(frame(KEY, 4)), 20);
    expect(isKeyframe('av1', packets)).toBe(true);
    expect(depacketizeAv1(packets)).toEqual(readObus(unit(sequence, frame(KEY, 4))).slice(1));
  });
});

test('split units can be reassembled, and no packet exceeds the limit', () => {
  const anyObu = fc
    .tuple(fc.constantFrom(SEQUENCE, FRAME, 4, 5), fc.integer({ min: 1, max: 900 }))
    .map(([type, bytes]) => obu(type, Buffer.alloc(bytes, DELTA)));
  fc.assert(
    fc.property(
      fc.array(anyObu, { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 64, max: 1200 }),
      (obus, mtu) => {
        const packets = new Av1Packetizer(mtu, 96).packets(unit(...obus), 0);
        // Compared as texts, because comparing buffers element by element takes most of the time of 300 runs.
        expect(hexOf(depacketizeAv1(packets))).toEqual(hexOf(readObus(unit(...obus)).slice(1)));
        for (const packet of packets) expect(packet.length).toBeLessThanOrEqual(mtu);
        expect(packets.filter((packet) => readRtpHeader(packet)?.marker)).toHaveLength(1);
      },
    ),
    { numRuns: 300 },
  );
});

test('any bytes give packets or none', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      new Av1Packetizer(MTU, 96).packets(Buffer.from(bytes), 0);
    }),
    { numRuns: 500 },
  );
});
