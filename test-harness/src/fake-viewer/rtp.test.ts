import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NalDepacketizer } from './nal-units.ts';
import { parseRtp, Reorder, type RtpPacket } from './rtp.ts';

function packet(sequence: number, payload: number[], timestamp = 3000, marker = false): RtpPacket {
  const head = Buffer.alloc(12);
  head[0] = 0x80;
  head[1] = (marker ? 0x80 : 0) | 96;
  head.writeUInt16BE(sequence & 0xffff, 2);
  head.writeUInt32BE(timestamp, 4);
  const parsed = parseRtp(Buffer.concat([head, Buffer.from(payload)]));
  if (parsed === null) throw new Error('a packet of our own must be readable');
  return parsed;
}

describe('RTP packets', () => {
  test('carry header extensions of one byte', () => {
    const bytes = Buffer.from('90600001000000010000002abede0002330102030010aa00c0ffee', 'hex');
    const parsed = parseRtp(bytes);
    expect(parsed?.extensions.get(3)).toEqual(Buffer.from([1, 2, 3, 0]));
    expect(parsed?.payload).toEqual(Buffer.from('c0ffee', 'hex'));
  });

  test('RTCP is none', () => {
    expect(parseRtp(Buffer.from('80c800010000000100000000', 'hex'))).toBeNull();
  });

  test('any bytes are read without throwing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        parseRtp(Buffer.from(bytes));
      }),
    );
  });
});

describe('the order of packets', () => {
  test('is restored over the wrap, and late ones are dropped', () => {
    const reorder = new Reorder();
    const numbers = [65534, 65535, 1, 0, 65535, 2].flatMap((sequence) =>
      reorder.push(packet(sequence, [1])).map((item) => item.sequence),
    );
    expect(numbers).toEqual([65534, 65535, 0, 1, 2]);
    expect(reorder.lost).toBe(0);
  });

  test('continues after a loss', () => {
    const reorder = new Reorder();
    reorder.push(packet(0, [1]));
    const numbers = [];
    for (let sequence = 2; sequence < 100; sequence += 1) {
      numbers.push(...reorder.push(packet(sequence, [1])).map((item) => item.sequence));
    }
    expect(numbers[0]).toBe(2);
    expect(reorder.lost).toBe(1);
  });
});

describe('access units', () => {
  test('from a single unit, an aggregate and fragments', () => {
    const depacketizer = new NalDepacketizer('h264');
    expect(depacketizer.push(packet(1, [24, 0, 2, 0x67, 1, 0, 2, 0x68, 2]))).toBeNull();
    expect(depacketizer.push(packet(2, [0x7c, 0x85, 9]))).toBeNull();
    const unit = depacketizer.push(packet(3, [0x7c, 0x45, 8], 3000, true));
    expect(unit?.keyframe).toBe(true);
    expect(unit?.data.toString('hex')).toBe('000000016701' + '000000016802' + '00000001650908');
    const next = depacketizer.push(packet(4, [0x41, 7], 6000, true));
    expect(next).toMatchObject({ keyframe: false, timestamp: 6000 });
  });

  test('of H.265, from a single unit, an aggregate and fragments', () => {
    const depacketizer = new NalDepacketizer('h265');
    expect(depacketizer.push(packet(1, [0x60, 1, 0, 3, 0x40, 1, 7, 0, 3, 0x42, 1, 8]))).toBeNull();
    expect(depacketizer.push(packet(2, [0x62, 1, 0x80 | 19, 9]))).toBeNull();
    const unit = depacketizer.push(packet(3, [0x62, 1, 0x40 | 19, 8], 3000, true));
    expect(unit?.keyframe).toBe(true);
    expect(unit?.data.toString('hex')).toBe('00000001400107' + '00000001420108' + '0000000126010908');
    const next = depacketizer.push(packet(4, [0x02, 1, 7], 6000, true));
    expect(next).toMatchObject({ keyframe: false, timestamp: 6000 });
  });

  test('with a gap are left out and counted', () => {
    const depacketizer = new NalDepacketizer('h264');
    depacketizer.push(packet(1, [0x7c, 0x85, 9]));
    expect(depacketizer.push(packet(3, [0x7c, 0x45, 8], 3000, true))).toBeNull();
    expect(depacketizer.damaged).toBe(1);
    expect(depacketizer.push(packet(4, [0x41, 7], 6000, true))).not.toBeNull();
  });

  test('any payload is accepted without throwing', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('h264', 'h265'),
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 20 }), fc.boolean()), { maxLength: 30 }),
        (codec, payloads) => {
          const depacketizer = new NalDepacketizer(codec);
          for (const [index, [payload, marker]] of payloads.entries()) {
            depacketizer.push(packet(index, [...payload], 3000 * Math.floor(index / 3), marker));
          }
        },
      ),
    );
  });
});
