/** Offset of pts in GstBuffer, after the mini object and the pool pointer. */
export const BUFFER_PTS = 72;
export const NS_PER_MS = 1e6;
