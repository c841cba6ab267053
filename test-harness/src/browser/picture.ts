import type { Page } from 'playwright-core';

export type Rgb = readonly [number, number, number];

/**
 * Colours of the decoded picture in the page's <video> element.
 * @param points fractions of width and height, 0…1
 */
export async function coloursAt(
  page: Page,
  points: ReadonlyArray<readonly [number, number]>,
): Promise<Rgb[]> {
  return page.evaluate(
    (wanted) => {
      const video = document.querySelector('video');
      if (video === null || video.videoWidth === 0) return [];
      const canvas = document.createElement('canvas');
      canvas.width = video.videoWidth;
      canvas.height = video.videoHeight;
      const context = canvas.getContext('2d', { willReadFrequently: true });
      if (context === null) return [];
      context.drawImage(video, 0, 0);
      return wanted.map(([x, y]) => {
        const pixel = context.getImageData(
          Math.floor(x * canvas.width),
          Math.floor(y * canvas.height),
          1,
          1,
        ).data;
        return [pixel[0] ?? 0, pixel[1] ?? 0, pixel[2] ?? 0] as const;
      });
    },
    points as [number, number][],
  );
}

/** True if two colours differ by no more than lossy coding changes a colour in a flat area. */
export function isNear(a: Rgb | undefined, b: Rgb, tolerance = 32): boolean {
  return a?.every((value, i) => Math.abs(value - (b[i] ?? 0)) <= tolerance) ?? false;
}

/** Frames that the page's video element has decoded and shown so far. */
export async function framesShown(page: Page): Promise<number> {
  return page.evaluate(
    () => document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames ?? 0,
  );
}
