import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationPatches } from './mp4-durations.ts';

function box(type: string, ...content: Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.reduce((sum, { length }) => sum + length, 0));
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, ...content]);
}

function header(version: number, timescaleAt: number | null, timescale: number): Buffer {
  const body = Buffer.alloc(92);
  body.writeUInt8(version);
  if (timescaleAt !== null) body.writeUInt32BE(timescale, timescaleAt);
  return body;
}

function file(version = 0): Buffer {
  const track = box(
    'trak',
    box('tkhd', header(version, null, 0)),
    box('mdia', box('mdhd', header(version, 12, 90_000))),
  );
  return Buffer.concat([
    box('ftyp', Buffer.from('isom')),
    box('moov', box('mvhd', header(version, 12, 1_000)), track),
    box('moof', Buffer.alloc(50)),
  ]);
}

test('every header gets the duration in its own units', () => {
  const head = file();
  const patched = durationPatches(head, 2_500);
  expect(patched.map(({ value }) => value)).toEqual([2_500, 2_500, 225_000]);
  expect(patched.map(({ at }) => at)).toEqual([
    head.indexOf('mvhd') + 4 + 16,
    head.indexOf('tkhd') + 4 + 20,
    head.indexOf('mdhd') + 4 + 16,
  ]);
});

test('headers of another version are not changed', () => {
  expect(durationPatches(file(1), 2_500)).toEqual([]);
});

test('for any bytes, offsets are within them', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((some) => Buffer.from(some)),
    fc.tuple(fc.nat(300), fc.nat(255)).map(([at, value]) => {
      const broken = file();
      broken[at % broken.length] = value;
      return broken;
    }),
  );
  fc.assert(
    fc.property(bytes, fc.integer({ min: 0, max: 600_000 }), (head, durationMs) => {
      for (const { at, value } of durationPatches(head, durationMs)) {
        expect(at + 4).toBeLessThanOrEqual(head.length);
        expect(value).toBeLessThanOrEqual(0xffff_ffff);
      }
    }),
  );
});
