/** Offset of pts in GstBuffer; the mini object and the pool pointer precede it. */
export const BUFFER_PTS = 72;
export const NS_PER_MS = 1e6;
