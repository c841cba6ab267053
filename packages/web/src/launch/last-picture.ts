/**
 * Largest number of stored pictures: the last shown picture of each session, for its card in the library. They are only
 * in memory, because they are private.
 */
const MAX_KEPT = 8;
/** Twice the width of a card, for dense displays. */
const WIDTH_PX = 480;
const JPEG_QUALITY = 0.7;
const kept = new Map<string, string>();

/** Stores the current picture of a video for its session. Before the first frame it stores nothing. */
export function keepPicture(sessionId: string, video: HTMLVideoElement): void {
  if (video.videoWidth === 0 || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) return;
  const canvas = document.createElement('canvas');
  canvas.width = WIDTH_PX;
  canvas.height = Math.round((WIDTH_PX * video.videoHeight) / video.videoWidth);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  kept.delete(sessionId);
  kept.set(sessionId, canvas.toDataURL('image/jpeg', JPEG_QUALITY));
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_KEPT) break;
    kept.delete(oldest);
  }
}

/** The last stored picture of a session as a data URL, or null. */
export function lastPicture(sessionId: string): string | null {
  return kept.get(sessionId) ?? null;
}
