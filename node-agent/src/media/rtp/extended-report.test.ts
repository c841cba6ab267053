import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readReferenceTime, writeDelaySinceReference } from './extended-report.ts';
import { readRtcp } from './rtcp.ts';

/** A packet of Chromium 140 with its reference time: NTP seconds 0xeeab4c5b and fraction 0xdb71fbc5. */
const FROM_CHROMIUM = Buffer.from('80cf00040000000104000002eeab4c5bdb71fbc5', 'hex');

test("a receiver's time is read from among the other blocks", () => {
  const time = { ssrc: 1, middle: 0x4c5bdb71 };
  expect(readReferenceTime(FROM_CHROMIUM)).toEqual(time);
  expect(readRtcp(FROM_CHROMIUM)).toEqual({ feedback: [{ kind: 'time', time }], malformed: 0 });
  const loss = Buffer.from('0100000200000001ffff0000', 'hex');
  const both = Buffer.concat([FROM_CHROMIUM.subarray(0, 8), loss, FROM_CHROMIUM.subarray(8)]);
  expect(readReferenceTime(both)).toEqual(time);
});

test('a report without a time, or a truncated one, gives null', () => {
  expect(readReferenceTime(FROM_CHROMIUM.subarray(0, 8))).toBeNull();
  expect(readReferenceTime(FROM_CHROMIUM.subarray(0, 19))).toBeNull();
  expect(readReferenceTime(writeDelaySinceReference(7, { ssrc: 1, middle: 2 }, 3))).toBeNull();
});

test('survives random bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 128 }), (bytes) => {
      expect(() => readReferenceTime(Buffer.from(bytes))).not.toThrow();
    }),
  );
});

test('the answer contains the receiver’s time and the delay since its arrival', () => {
  const told = writeDelaySinceReference(0x11223344, { ssrc: 1, middle: 0x4c5bdb71 }, 250);
  expect(told.toString('hex')).toBe('80cf000511223344' + '05000003' + '00000001' + '4c5bdb71' + '00004000');
});
