import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyMemory } from './body-memory.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

test('a thousand bodies of one sender hold no more than its share, and other senders notice nothing', () => {
  const memory = new BodyMemory();
  const taken = Array.from({ length: 1_000 }, () => memory.claim('mallory')).filter((claim) =>
    claim.add(MIB),
  );
  expect(taken.length).toBeLessThanOrEqual(33);
  expect(memory.claim('alice').add(MIB)).toBe(true);
  for (const claim of taken) claim.release();
});

test('short bodies always pass, so no crowd of long ones keeps people from signing in', () => {
  const memory = new BodyMemory();
  for (let n = 0; n < 1_000; n += 1) memory.claim('').add(MIB);
  for (let n = 0; n < 1_000; n += 1) expect(memory.claim('').add(4 * KIB)).toBe(true);
});

test('a single body of any length passes', () => {
  const claim = new BodyMemory().claim('admin');
  for (let n = 0; n < 1_000; n += 1) expect(claim.add(MIB)).toBe(true);
});

test('finished bodies free their memory, in any order of starts and ends', () => {
  const step = fc.record({ body: fc.nat({ max: 9 }), bytes: fc.nat({ max: 200 * KIB }), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new BodyMemory({ senderBytes: MIB });
      const claims = Array.from({ length: 10 }, () => memory.claim('alice'));
      for (const { body, bytes, ends } of steps) {
        const claim = claims[body]!;
        if (!claim.add(bytes) || ends) {
          claim.release();
          claims[body] = memory.claim('alice');
        }
      }
      for (const claim of claims) {
        claim.release();
        claim.release();
      }
      const fresh = [memory.claim('alice'), memory.claim('alice')];
      // The sender's whole share is available again.
      expect(fresh.map((claim) => claim.add(500 * KIB))).toEqual([true, true]);
    }),
  );
});
