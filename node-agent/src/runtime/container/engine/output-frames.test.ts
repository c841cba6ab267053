import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputFrames } from './output-frames.ts';

const frame = (stream: number, text: string) => {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

test('frames split anywhere give the app’s output', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(1, 2), fc.string())),
      fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 1 }),
      (written, cuts) => {
        const bytes = Buffer.concat(written.map(([stream, text]) => frame(stream, text)));
        const frames = new OutputFrames();
        const output: Buffer[] = [];
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const end = at + (cuts[cut % cuts.length] ?? 1);
          output.push(...frames.take(bytes.subarray(at, end)));
          at = end;
        }
        expect(Buffer.concat(output).toString()).toBe(written.map(([, text]) => text).join(''));
      },
    ),
  );
});

test('any bytes are accepted', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
      const frames = new OutputFrames();
      for (const chunk of chunks) frames.take(Buffer.from(chunk));
    }),
  );
});
