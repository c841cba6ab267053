import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CodedUnit, encodeRecord, MAX_RECORD_BYTES, RecordReader, unitsOf } from './stream-records.ts';

const unit: fc.Arbitrary<CodedUnit> = fc.record({
  kind: fc.constantFrom('video' as const, 'sound' as const),
  capturedAtMs: fc.double({ noNaN: true }),
  data: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
});
const record = fc.record({ units: fc.array(unit, { maxLength: 8 }), isKeyframe: fc.boolean() });

test('written records are read back, however the stream is split', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 6 }), fc.array(fc.nat(400)), (records, cuts) => {
      const stream = Buffer.concat(records.map((one) => encodeRecord(one.units, one.isKeyframe)));
      const reader = new RecordReader();
      const read = [];
      let at = 0;
      for (const length of [...cuts, stream.length]) {
        read.push(...reader.push(stream.subarray(at, at + length)));
        at += length;
      }
      expect(read.map((one) => ({ units: unitsOf(one), isKeyframe: one.isKeyframe }))).toEqual(records);
    }),
  );
});

test('any bytes are records, or end the stream, and never need more memory than the largest record', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4_000 }), (bytes) => {
      const reader = new RecordReader();
      try {
        for (const one of reader.push(Buffer.from(bytes))) {
          expect(one.bytes.length).toBeLessThanOrEqual(MAX_RECORD_BYTES + 8);
          expect(one.bytes.buffer.byteLength).toBe(one.bytes.length);
        }
      } catch (error) {
        expect(String(error)).toMatch(/a record of \d+ bytes/);
      }
    }),
  );
});

test('units of any bytes are read, or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      try {
        for (const { data } of unitsOf({ bytes: Buffer.from(bytes) }))
          expect(data.length).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(String(error)).toMatch(/longer than its record/);
      }
    }),
  );
});
