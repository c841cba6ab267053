/**
 * Durations in the header of a fragmented MP4 file. If mp4mux cannot seek, it leaves the durations 0, and a player
 * finds the length only after reading the whole file. mp4mux gets no seekable file here, because it would rewrite the
 * whole header at the end. If the picture's size has changed, the new header can be longer and would overwrite the
 * first pictures (GStreamer 1.22).
 */

/** Number of bytes at the beginning of a file that contain its header. With two tracks, the header has 1.4 KiB. */
export const HEAD_BYTES = 64 * 1024;

/**
 * Offsets of the durations in boxes of version 0, after size and type. Source: ISO/IEC 14496-12, 8.2.2, 8.3.2, 8.4.2.
 */
const DURATION_AT: Readonly<Record<string, number>> = { mvhd: 16, tkhd: 20, mdhd: 16 };
const TIMESCALE_AT = 12;
const CONTAINERS = new Set(['moov', 'trak', 'mdia']);

/** A 32-bit big-endian number that must be written into the file. */
export interface Patch {
  /** Offset in the file. */
  at: number;
  value: number;
}

/**
 * @param head beginning of the file @returns patches that set the duration of every track; empty: the header has an
 * unknown form
 */
export function durationPatches(head: Buffer, durationMs: number): Patch[] {
  const patches: Patch[] = [];
  let movieTimescale = 0;
  const visit = (from: number, end: number): void => {
    for (let at = from; at + 8 <= end; ) {
      const size = head.readUInt32BE(at);
      const type = head.toString('latin1', at + 4, at + 8);
      const body = at + 8;
      if (size < 8 || at + size > end) return;
      const durationAt = DURATION_AT[type];
      if (durationAt !== undefined && body + durationAt + 4 <= at + size && head.readUInt8(body) === 0) {
        // The header of a track (tkhd) uses the time unit of the movie.
        const timescale = type === 'tkhd' ? movieTimescale : head.readUInt32BE(body + TIMESCALE_AT);
        if (type === 'mvhd') movieTimescale = timescale;
        const value = Math.round((durationMs / 1000) * timescale);
        if (value <= 0xffff_ffff) patches.push({ at: body + durationAt, value });
      }
      if (CONTAINERS.has(type)) visit(body, at + size);
      at += size;
    }
  };
  visit(0, head.length);
  return patches;
}
