/** A timing that a display supports. */
export interface DisplayTiming {
  width: number;
  height: number;
  refresh_millihz: number;
  preferred: boolean;
  interlaced: boolean;
  clock_khz: number;
  htotal: number;
  vtotal: number;
}

const HEADER = [0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00];
const BLOCK_BYTES = 128;
const DESCRIPTOR_BYTES = 18;
/** Offset of the first of the four descriptors in the base block. */
const FIRST_DESCRIPTOR = 54;
const CTA_EXTENSION = 0x02;

/**
 * The detailed timings of an EDID. The first one is the preferred one. Modes given only by a code have no timing and
 * are omitted. Bytes that are not an EDID, and damaged blocks, give no timings. Source: VESA E-EDID 1.4, section
 * 3.10.2; CTA-861, extension version 3.
 */
export function readEdid(bytes: Uint8Array): DisplayTiming[] {
  if (!HEADER.every((byte, index) => bytes[index] === byte) || !isWhole(bytes, 0)) return [];
  const timings: DisplayTiming[] = [];
  for (let at = FIRST_DESCRIPTOR; at + DESCRIPTOR_BYTES < BLOCK_BYTES; at += DESCRIPTOR_BYTES) {
    const timing = readDescriptor(bytes.subarray(at, at + DESCRIPTOR_BYTES), timings.length === 0);
    if (timing !== null) timings.push(timing);
  }
  const extensions = bytes[126] ?? 0;
  for (let block = 1; block <= extensions; block += 1) {
    const start = block * BLOCK_BYTES;
    if (bytes[start] !== CTA_EXTENSION || !isWhole(bytes, start)) continue;
    const offset = bytes[start + 2] ?? 0;
    if (offset < 4) continue;
    for (let at = start + offset; at + DESCRIPTOR_BYTES < start + BLOCK_BYTES; at += DESCRIPTOR_BYTES) {
      const timing = readDescriptor(bytes.subarray(at, at + DESCRIPTOR_BYTES), false);
      if (timing === null) break;
      timings.push(timing);
    }
  }
  return timings;
}

/** The bytes of a valid block sum up to a multiple of 256. */
function isWhole(bytes: Uint8Array, start: number): boolean {
  const block = bytes.subarray(start, start + BLOCK_BYTES);
  return block.length === BLOCK_BYTES && block.reduce((sum, byte) => sum + byte, 0) % 256 === 0;
}

/** @returns null for a descriptor without a timing */
function readDescriptor(bytes: Uint8Array, preferred: boolean): DisplayTiming | null {
  const byte = (index: number) => bytes[index] ?? 0;
  const clock_khz = (byte(0) + byte(1) * 256) * 10;
  if (clock_khz === 0) return null;
  // The low eight bits are in one byte, the upper four in half of a byte that width and blanking share.
  const width = byte(2) + (byte(4) >> 4) * 256;
  const height = byte(5) + (byte(7) >> 4) * 256;
  const htotal = width + byte(3) + (byte(4) & 0x0f) * 256;
  const vtotal = height + byte(6) + (byte(7) & 0x0f) * 256;
  if (width === 0 || height === 0) return null;
  return {
    width,
    height,
    refresh_millihz: Math.round((clock_khz * 1_000_000) / (htotal * vtotal)),
    preferred,
    interlaced: (byte(17) & 0x80) !== 0,
    clock_khz,
    htotal,
    vtotal,
  };
}
