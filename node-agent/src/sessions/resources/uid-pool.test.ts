import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UidPool } from './uid-pool.ts';

describe('uids', () => {
  test('each session gets one, the preferred one if it is free, none when all are taken', () => {
    const pool = new UidPool([70_000, 70_002]);
    expect(pool.take(70_001)).toBe(70_001);
    expect(pool.take(70_001)).toBe(70_000);
    expect(pool.take(5)).toBe(70_002);
    expect(pool.take(null)).toBeNull();
    pool.release(70_000);
    expect(pool.take(null)).toBe(70_000);
  });

  test('never the same uid for two sessions at a time', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant('take'), fc.nat(9))), (script) => {
        const pool = new UidPool([100, 109]);
        const held: number[] = [];
        for (const entry of script) {
          if (entry === 'take') {
            const uid = pool.take(null);
            if (uid === null) expect(held).toHaveLength(10);
            else held.push(uid);
          } else {
            const [uid] = held.splice(Number(entry), 1);
            if (uid !== undefined) pool.release(uid);
          }
          expect(new Set(held).size).toBe(held.length);
        }
      }),
    );
  });
});
