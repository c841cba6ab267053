import type { Random } from '../random.ts';

/**
 * Random values that are the same for the same seed, for fakes and tests; never for secrets.
 * @param seed any number; only its low 32 bits are used
 * Source: mulberry32 by Tommy Ettinger, public domain.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  function number(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const bytes = (count: number) =>
    Buffer.from(Array.from({ length: count }, () => Math.floor(number() * 256)));
  return {
    number,
    bytes,
    uuid() {
      const raw = bytes(16);
      raw.writeUInt8((raw.readUInt8(6) & 0x0f) | 0x40, 6);
      raw.writeUInt8((raw.readUInt8(8) & 0x3f) | 0x80, 8);
      return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    },
  };
}
