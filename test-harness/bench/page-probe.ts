import type { Page } from 'playwright-core';

/** One frame in which a field of the Diagnostics picture has another colour than in the previous frame. */
export interface Change {
  /** Unix milliseconds on the page's clock when the frame had been read back. */
  readonly at: number;
  /** Unix milliseconds on that clock when its last packet had arrived. */
  readonly receivedAt: number;
  /** Unix milliseconds on that clock when the decoded frame was handed to the display. */
  readonly presentedAt: number;
  /** Unix milliseconds on that clock when the browser expected it on the screen. */
  readonly displayedAt: number;
  /** Levels of red, green and blue, for example "0,3,0" for 0x00c000. */
  readonly colour: string;
  readonly field: 'key' | 'button';
}

export interface Probe {
  /** performance.now() when the first offer was handed to a peer connection; null: no offer has arrived yet. */
  offerAt: number | null;
  /** Unix milliseconds of the first picture that was not of one colour. */
  firstPictureAt: number | null;
  firstPictureSinceOfferMs: number | null;
  /** Resolves with the first picture. Polling instead would use the cores that a launch needs. */
  pictured: Promise<void>;
  changes: Change[];
  /** Unix milliseconds of every pointer press that reached the page. */
  presses: number[];
  /** Unix milliseconds at which the page sent POST /v1/sessions; null: the page has sent no launch. */
  launchedAt: number | null;
}

declare global {
  interface Window {
    footlightProbe: Probe;
  }
}

/**
 * Watches a page's video with code in the page, in the same way for every sender: the two fields of the Diagnostics
 * picture are read back in each decoded frame. Must be installed before the page loads.
 */
export async function installProbe(page: Page): Promise<void> {
  // The loader that runs these files wraps named functions in a call that only exists in Node.
  await page.addInitScript('globalThis.__name = (fn) => fn');
  await page.addInitScript(() => {
    let tellPictured: () => void = () => undefined;
    const probe: Probe = {
      pictured: new Promise((resolve) => {
        tellPictured = resolve;
      }),
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

    // Reads the decoder's own planes: a canvas would first convert the whole picture to RGB, which takes 10 ms of the
    // main thread.
    const colourOf = async (frame: VideoFrame, x: number, y: number): Promise<[number, number, number]> => {
      // Chroma is subsampled by two, so a sample position is an even pixel.
      const rect = { x: Math.floor(x / 2) * 2, y: Math.floor(y / 2) * 2, width: 2, height: 2 };
      const bytes = new Uint8Array(frame.allocationSize({ rect }));
      const [luma, chroma, second] = await frame.copyTo(bytes, { rect });
      const at = (offset: number) => bytes[offset] ?? 0;
      const blue = chroma?.offset ?? 0;
      // BT.709, limited range.
      const l = 1.164 * (at(luma?.offset ?? 0) - 16);
      const u = at(blue) - 128;
      const v = at(second?.offset ?? blue + 1) - 128;
      return [l + 1.793 * v, l - 0.213 * u - 0.533 * v, l + 2.112 * u];
    };
    /** null: the element has no frame yet. */
    const frameOf = (video: HTMLVideoElement): VideoFrame | null => {
      try {
        return new VideoFrame(video);
      } catch {
        return null;
      }
    };
    let last: { key: string; button: string } | null = null;
    // Reads three positions: the left field, the right field, and one of the bars. The bar shows whether there is a
    // picture or a dark screen.
    const watch = async (video: HTMLVideoElement, facts: VideoFrameCallbackMetadata) => {
      const next = () => watchNext(video);
      const frame = frameOf(video);
      if (frame === null) return next();
      const { width: w, height: h } = frame.visibleRect ?? { width: 0, height: 0 };
      const [key, button, bar] = await Promise.all([
        colourOf(frame, w * 0.1, h * 0.9),
        colourOf(frame, w * 0.95, h * 0.95),
        colourOf(frame, w * 0.06, h * 0.1),
      ]);
      frame.close();
      // The colour components of the fields are 0, 48, 96, 192 and 255; the thresholds are halfway between them.
      const named = (colour: number[]) =>
        colour.map((part) => [24, 72, 144, 224].filter((edge) => part >= edge).length).join();
      const at = now();
      if (probe.firstPictureAt === null && bar[0] > 200 && bar[1] > 200) {
        probe.firstPictureAt = at;
        probe.firstPictureSinceOfferMs = performance.now() - (probe.offerAt ?? performance.now());
        tellPictured();
      }
      const seen = { key: named(key), button: named(button) };
      const times = {
        at,
        receivedAt: performance.timeOrigin + (facts.receiveTime ?? Number.NaN),
        presentedAt: performance.timeOrigin + facts.presentationTime,
        displayedAt: performance.timeOrigin + facts.expectedDisplayTime,
      };
      if (last !== null && seen.key !== last.key)
        probe.changes.push({ ...times, colour: seen.key, field: 'key' });
      if (last !== null && seen.button !== last.button)
        probe.changes.push({ ...times, colour: seen.button, field: 'button' });
      last = seen;
      return next();
    };
    const watchNext = (video: HTMLVideoElement) => {
      video.requestVideoFrameCallback((_, facts) => void watch(video, facts));
    };
    const watched = new WeakSet<HTMLVideoElement>();
    // Animation frames are not used: each would make the page render a whole frame, on the cores that the launch needs.
    new MutationObserver(() => {
      for (const video of document.querySelectorAll('video')) {
        if (watched.has(video)) continue;
        watched.add(video);
        watchNext(video);
      }
    }).observe(document, { childList: true, subtree: true });
  });
}

/** A press, and the first change of its field after the press. */
export interface Response {
  /** Unix milliseconds. */
  readonly press: number;
  readonly change: Change;
}

/** Responses to presses; a press without a change within `limitMs` is missing. */
export function responsesTo(
  presses: readonly number[],
  changes: readonly Change[],
  field: Change['field'],
  limitMs: number,
): Response[] {
  const ofField = changes.filter((change) => change.field === field);
  return presses.flatMap((press) => {
    const change = ofField.find(({ at }) => at > press);
    return change !== undefined && change.at - press <= limitMs ? [{ press, change }] : [];
  });
}
