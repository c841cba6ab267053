/**
 * Durations in the header of a fragmented MP4 file. mp4mux leaves them 0 where it cannot seek, and a player then finds
 * the length only when it has read the whole file. mp4mux gets no seekable file, because it would then rewrite the
 * whole header at the end. If the picture's size has changed, that header can be longer and would overwrite the first
 * pictures (GStreamer 1.22).
 */

/** Bytes at the begin of a file that contain its header: with two tracks it takes 1.4 KiB. */
export const HEAD_BYTES = 64 * 1024;

/** Offsets in the boxes of version 0, after size and type. Source: ISO/IEC 14496-12, 8.2.2, 8.3.2, 8.4.2. */
const DURATION_AT: Readonly<Record<string, number>> = { mvhd: 16, tkhd: 20, mdhd: 16 };
const TIMESCALE_AT = 12;
const CONTAINERS = new Set(['moov', 'trak', 'mdia']);

/** A number of 32 bits, big-endian, to be written into the file. */
export interface Patch {
  /** Offset in the file. */
  at: number;
  value: number;
}

/** @param head begin of the file @returns patches that set the duration of every track; empty for an unknown header */
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
        // A track's header counts in units of the movie.
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
