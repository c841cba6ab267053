import { expect, test } from 'vitest';
import type { MediaClock } from '../session/media-clock.ts';
import { CaptureTimer } from './capture-timer.ts';

const HOUR_S = 3_600n;

test.each([24, 25, 30, 50, 60, 90, 120, 144, 240])(
  '%s fps, after a day: each frame has the time of its own capture',
  (fps) => {
    let nowMs = 0;
    const idle = { cancel: () => undefined };
    const time: MediaClock = {
      nowMs: () => nowMs,
      monotonicMs: () => nowMs,
      setTimeout: () => idle,
      setInterval: () => idle,
    };
    const firstFrame = 24n * HOUR_S * BigInt(fps);
    const clock = {
      timeNs: 24n * HOUR_S * 1_000_000_000n,
      set(timeNs: bigint) {
        this.timeNs = timeNs;
        return true;
      },
      releaseWaiting: () => false,
    };
    const timer = new CaptureTimer(clock, fps, time);
    timer.start();
    for (let frame = 1n; frame <= 2_000n; frame++) {
      nowMs += 5;
      timer.now();
      // Rounded down, because the source rounds the time of a frame down. Source: gst_ximage_src_create.
      const ptsNs = ((firstFrame + frame) * 1_000_000_000n) / BigInt(fps);
      expect(timer.capturedAtMs(Number(ptsNs) / 1e6), `frame ${frame}`).toBe(nowMs);
    }
    timer.stop();
  },
);
