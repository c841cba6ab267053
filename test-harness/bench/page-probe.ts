import type { Page } from 'playwright-core';

/** One frame in which a field of the Diagnostics picture had another colour than in the frame before. */
export interface Change {
  /** Unix milliseconds on the page's clock at which the frame had been read back. */
  readonly at: number;
  readonly field: 'key' | 'button';
}

export interface Probe {
  /** performance.now() when the first offer was handed to a peer connection; null before that. */
  offerAt: number | null;
  /** Unix milliseconds of the first picture that was not of one colour. */
  firstPictureAt: number | null;
  firstPictureSinceOfferMs: number | null;
  changes: Change[];
  /** Unix milliseconds of every pointer press that reached the page. */
  presses: number[];
  /** Unix milliseconds at which the page sent POST /v1/sessions; null before that. */
  launchedAt: number | null;
}

declare global {
  interface Window {
    footlightProbe: Probe;
  }
}

/**
 * Watches a page's video from inside, the same for every sender: each decoded frame is read back at the two fields of
 * the Diagnostics picture. Must be installed before the page loads.
 */
export async function installProbe(page: Page): Promise<void> {
  // The loader that runs these files wraps named functions in a call that only exists in Node.
  await page.addInitScript('globalThis.__name = (fn) => fn');
  await page.addInitScript(() => {
    const probe: Probe = {
      offerAt: null,
      firstPictureAt: null,
      firstPictureSinceOfferMs: null,
      changes: [],
      presses: [],
      launchedAt: null,
    };
    window.footlightProbe = probe;
    const now = () => performance.timeOrigin + performance.now();
    const original = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function (this: RTCPeerConnection, description) {
      probe.offerAt ??= performance.now();
      return (original as (d: RTCSessionDescriptionInit) => Promise<void>).call(this, description);
    } as typeof original;
    const fetchOriginal = window.fetch;
    window.fetch = (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      if (init?.method === 'POST' && url.endsWith('/v1/sessions')) probe.launchedAt ??= now();
      return fetchOriginal(input, init);
    };
    window.addEventListener('pointerdown', () => probe.presses.push(now()), { capture: true });

    const canvas = document.createElement('canvas');
    canvas.width = 3;
    canvas.height = 1;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    let last: { key: string; button: string } | null = null;
    // Three single pixels: left field, right field, and one of the bars, which tells a picture from a dark screen.
    const watch = (video: HTMLVideoElement) => {
      if (context === null) return;
      const { videoWidth: w, videoHeight: h } = video;
      const points = [
        [w * 0.1, h * 0.9],
        [w * 0.95, h * 0.95],
        [w * 0.06, h * 0.1],
      ] as const;
      for (const [i, [x, y]] of points.entries()) context.drawImage(video, x, y, 1, 1, i, 0, 1, 1);
      const data = context.getImageData(0, 0, 3, 1).data;
      const colour = (i: number) =>
        `${(data[i * 4] ?? 0) >> 6},${(data[i * 4 + 1] ?? 0) >> 6},${(data[i * 4 + 2] ?? 0) >> 6}`;
      const at = now();
      if (probe.firstPictureAt === null && (data[8] ?? 0) > 200 && (data[9] ?? 0) > 200) {
        probe.firstPictureAt = at;
        probe.firstPictureSinceOfferMs = performance.now() - (probe.offerAt ?? performance.now());
      }
      const seen = { key: colour(0), button: colour(1) };
      if (last !== null && seen.key !== last.key) probe.changes.push({ at, field: 'key' });
      if (last !== null && seen.button !== last.button) probe.changes.push({ at, field: 'button' });
      last = seen;
      video.requestVideoFrameCallback(() => watch(video));
    };
    const watched = new WeakSet<HTMLVideoElement>();
    // Not by animation frames: each would make the page run a whole frame, on the cores that the launch needs.
    new MutationObserver(() => {
      for (const video of document.querySelectorAll('video')) {
        if (watched.has(video)) continue;
        watched.add(video);
        video.requestVideoFrameCallback(() => watch(video));
      }
    }).observe(document, { childList: true, subtree: true });
  });
}

/** Times from each press to the first change of that field after it; a press without a change within `limitMs` is missing. */
export function responseTimes(
  presses: readonly number[],
  changes: readonly Change[],
  field: Change['field'],
  limitMs: number,
): number[] {
  const times = changes.filter((change) => change.field === field).map((change) => change.at);
  return presses.flatMap((press) => {
    const seen = times.find((at) => at > press);
    return seen !== undefined && seen - press <= limitMs ? [seen - press] : [];
  });
}
