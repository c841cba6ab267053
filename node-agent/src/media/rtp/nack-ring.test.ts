import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RetransmitRing, type RingAnswer } from './nack-ring.ts';

const PACKET = 1000;

function ringWith(sequences: readonly number[], rateKbps = 8000, sentAtMs = 0): RetransmitRing {
  const ring = new RetransmitRing(rateKbps);
  for (const sequence of sequences) {
    ring.keep({ data: Buffer.alloc(PACKET), sequence, sentAtMs, transportSequenceAt: null });
  }
  return ring;
}

const sequencesOf = ({ packets }: RingAnswer) => packets.map(({ sequence }) => sequence);

describe('memory of its own', () => {
  const fill = (ring: RetransmitRing, sequence: number, bytes: number) => {
    const data = ring.room(sequence, bytes).fill(sequence & 0xff);
    ring.keep({ data, sequence, sentAtMs: 0, transportSequenceAt: null });
  };
  const wholeOf = (ring: RetransmitRing, sequence: number) =>
    ring.answer([sequence], 10, 5).packets.map(({ data }) => [data.length, new Set(data)]);

  test('keeps a packet unchanged while the rest of the ring is written, also with larger packets', () => {
    const ring = new RetransmitRing(8000);
    const largest = 2000;
    for (let sequence = 7; sequence < 7 + 1024; sequence++)
      fill(ring, sequence, 1 + ((sequence * 37) % largest));
    expect(wholeOf(ring, 7)).toEqual([[1 + ((7 * 37) % largest), new Set([7])]]);
    expect(wholeOf(ring, 1030)).toEqual([[1 + ((1030 * 37) % largest), new Set([1030 & 0xff])]]);
  });

  test('drops the packet whose slot is overwritten, before the new one is complete', () => {
    const ring = new RetransmitRing(8000);
    fill(ring, 7, 100);
    ring.room(7 + 1024, 100);
    expect(ring.answer([7], 10, 5).gone).toEqual([7]);
  });
});

describe('retransmission within a budget', () => {
  test('answers only with packets that it still holds', () => {
    const ring = ringWith([1, 2, 3]);
    expect(sequencesOf(ring.answer([2, 9, 1027], 10, 5))).toEqual([2]);
    expect(ring.counts).toEqual({ resent: 1, refused: 2 });
  });

  test('an overwritten slot is not mistaken for the requested packet', () => {
    const ring = ringWith([1, 1025]);
    expect(sequencesOf(ring.answer([1], 10, 5))).toEqual([]);
    expect(sequencesOf(ring.answer([1025], 10, 5))).toEqual([1025]);
  });

  test('not again while the last copy may still be in flight', () => {
    const ring = ringWith([1]);
    expect(sequencesOf(ring.answer([1], 10, 40))).toHaveLength(1);
    expect(sequencesOf(ring.answer([1], 49, 40))).toHaveLength(0);
    expect(sequencesOf(ring.answer([1], 50, 40))).toHaveLength(1);
  });

  test('nothing older than a round trip and 50 ms', () => {
    expect(sequencesOf(ringWith([1]).answer([1], 90, 40))).toHaveLength(1);
    expect(sequencesOf(ringWith([1]).answer([1], 91, 40))).toHaveLength(0);
  });

  test('a packet that is too old or not kept is gone; one that only has to wait is not', () => {
    const ring = ringWith([1, 2], 40);
    expect(ring.answer([1, 2, 9], 91, 40).gone).toEqual([1, 2, 9]);
    // On such a slow path, the budget is one packet.
    expect(ring.answer([1, 2], 90, 40).gone).toEqual([]);
    expect(ring.answer([1], 91, 40, 101).gone).toEqual([]);
  });

  test('nothing while the queue on the path delays more than 100 ms', () => {
    expect(sequencesOf(ringWith([1]).answer([1], 10, 40, 100))).toHaveLength(1);
    const ring = ringWith([1]);
    expect(sequencesOf(ring.answer([1], 10, 40, 101))).toHaveLength(0);
    expect(ring.counts).toEqual({ resent: 0, refused: 1 });
  });

  test('over any second of NACKs at most a tenth of the rate, once the reserve is spent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 20_000 }), (rateKbps) => {
        const ring = new RetransmitRing(rateKbps);
        let bytes = 0;
        for (let ms = 0; ms < 10_000; ms += 10) {
          for (let index = 0; index < 10; index++) {
            const sequence = (ms + index) % 65_536;
            ring.keep({ data: Buffer.alloc(PACKET), sequence, sentAtMs: ms, transportSequenceAt: null });
          }
          const asked = Array.from({ length: 10 }, (_, index) => (ms + index) % 65_536);
          bytes += ring.answer(asked, ms, 1).packets.length * PACKET;
        }
        // Refill of ten seconds, and two seconds of the full bucket.
        expect(bytes).toBeLessThanOrEqual((rateKbps / 8) * 0.1 * 12_000);
      }),
      { numRuns: 20 },
    );
  });
});
