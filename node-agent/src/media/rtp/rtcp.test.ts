import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeNtp } from '../webrtc/rtp-extensions.ts';
import { readRtcp, roundTripMs, writeSenderReport } from './rtcp.ts';

function packet(type: number, count: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head[0] = 0x80 | count;
  head[1] = type;
  head.writeUInt16BE(body.length / 4, 2);
  return Buffer.concat([head, body]);
}

const words = (...values: number[]) => {
  const body = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    body.writeUInt32BE(value >>> 0, index * 4);
  });
  return body;
};

describe('feedback of a receiver', () => {
  test('PLI and FIR request a keyframe', () => {
    expect(readRtcp(packet(206, 1, words(1, 2))).feedback).toEqual([{ kind: 'pli' }]);
    expect(readRtcp(packet(206, 4, words(1, 0, 2, 0x01000000))).feedback).toContainEqual({ kind: 'fir' });
  });

  test('NACK names the lost packets', () => {
    const nack = packet(205, 1, words(1, 77, (500 << 16) | 0b101));
    expect(readRtcp(nack).feedback).toEqual([{ kind: 'nack', ssrc: 77, lost: [500, 501, 503] }]);
  });

  test('a compound is read packet by packet, and a bad packet affects only itself', () => {
    const bad = packet(205, 15, words(1, 2));
    const result = readRtcp(Buffer.concat([bad, packet(206, 1, words(1, 2))]));
    expect(result).toEqual({ feedback: [{ kind: 'pli' }], malformed: 1 });
  });

  test('a feedback about more packets than were ever sent is refused', () => {
    const huge = packet(205, 15, words(1, 2, (0 << 16) | 65_535, 0, 0x1fff1fff));
    expect(readRtcp(huge)).toEqual({ feedback: [], malformed: 1 });
  });

  test('survives random bytes', () => {
    const runs = process.env.FOOTLIGHT_LONG ? 100_000 : 2_000;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 256 }), (bytes) => {
        const result = readRtcp(Buffer.from(bytes));
        expect(result.feedback.length + result.malformed).toBeLessThan(70_000);
      }),
      { numRuns: runs },
    );
  });

  test('survives random bodies behind a valid header', () => {
    const runs = process.env.FOOTLIGHT_LONG ? 100_000 : 2_000;
    fc.assert(
      fc.property(
        fc.constantFrom(200, 201, 202, 205, 206, 207),
        fc.nat(31),
        fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 40 }),
        (type, count, body) => {
          expect(() => readRtcp(packet(type, count, words(...body)))).not.toThrow();
        },
      ),
      { numRuns: runs },
    );
  });
});

describe('sender reports', () => {
  const facts = {
    ssrc: 0x11223344,
    cname: 'picture',
    nowMs: 1_750_000_000_250,
    rtpTimestamp: 90_000,
    packets: 10,
    payloadBytes: 1000,
  };

  test('a report and a description that parse again', () => {
    const report = writeSenderReport(facts);
    expect(report.readUInt32BE(4)).toBe(facts.ssrc);
    expect(report.readUInt32BE(16)).toBe(facts.rtpTimestamp);
    expect(report.length % 4).toBe(0);
    expect(readRtcp(report).malformed).toBe(0);
  });

  test('the round trip is computed from the receiver report', () => {
    const sent = Buffer.alloc(8);
    writeNtp(sent, 0, facts.nowMs);
    const report = {
      ssrc: 1,
      packetsLost: 0,
      highestSequence: 0,
      jitter: 0,
      lastSenderReport: sent.readUInt32BE(2),
      delaySinceLast: Math.round(0.1 * 65_536),
    };
    expect(roundTripMs(report, facts.nowMs + 140)).toBeCloseTo(40, 0);
    expect(roundTripMs({ ...report, lastSenderReport: 0 }, facts.nowMs)).toBeNull();
    expect(roundTripMs(report, facts.nowMs - 5000)).toBeNull();
  });
});
