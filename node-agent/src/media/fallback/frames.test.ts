import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameReader, framed, MAX_PACKET_BYTES } from './frames.ts';

const packets = fc.array(fc.uint8Array({ maxLength: MAX_PACKET_BYTES }), { maxLength: 8 });

test('packets arrive as they were sent, however the stream is cut', () => {
  fc.assert(
    fc.property(packets, fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map((packet) => framed(Buffer.from(packet))));
      const reader = new FrameReader();
      const received: Buffer[] = [];
      for (let [at, turn] = [0, 0]; at < stream.length; turn += 1) {
        const bytes = cuts[turn % cuts.length] ?? 1;
        received.push(...(reader.read(stream.subarray(at, at + bytes)) ?? []));
        at += bytes;
      }
      expect(received.map((packet) => [...packet])).toEqual(sent.map((packet) => [...packet]));
    }),
  );
});

test('a packet that is too long ends the stream, also for later packets', () => {
  const reader = new FrameReader();
  expect(reader.read(Buffer.from([0xff, 0xff, 1]))).toBeNull();
  expect(reader.read(framed(Buffer.from('later')))).toBeNull();
});
