import { isNewerSeq } from '@footlight/protocol/input';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { median } from '../numbers.ts';
import { ClickToPhoton } from './click-to-photon.ts';

describe('click to photon', () => {
  test('is completed when the host names the frame before it is shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(9, 1000);
    clicks.contained(9, 87_000);
    clicks.frame(84_000, 1010);
    clicks.frame(87_000, 1030);
    expect(clicks.take()).toEqual({ click_to_photon_ms: 30, click_to_photon_n: 1 });
    expect(clicks.take()).toBeNull();
  });

  test('is completed when the host names the frame after it was shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 1000);
    clicks.frame(87_000, 1020);
    clicks.frame(90_000, 1036);
    clicks.contained(1, 88_000);
    expect(clicks.take()?.click_to_photon_ms).toBe(36);
  });

  test('RTP time stamps wrap', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(1, 0xffff_fff0);
    clicks.frame(16, 40);
    expect(clicks.take()?.click_to_photon_ms).toBe(40);
  });

  test('a press that no timing message mentions is not counted', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(2, 90_000);
    clicks.frame(90_000, 40);
    expect(clicks.take()).toBeNull();
  });

  test('a frame that the browser skipped is replaced by the next one', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(1, 90_000);
    clicks.frame(88_500, 16);
    clicks.frame(91_500, 50);
    expect(clicks.take()?.click_to_photon_ms).toBe(50);
  });

  test('a window reports the median of its presses, and their number', () => {
    const clicks = new ClickToPhoton();
    for (const [seq, displayMs] of [
      [1, 30],
      [2, 90],
      [3, 40],
      [4, 50],
    ] as const) {
      clicks.press(seq, 0);
      clicks.contained(seq, seq * 1_500);
      clicks.frame(seq * 1_500, displayMs);
    }
    expect(clicks.take()).toEqual({ click_to_photon_ms: 45, click_to_photon_n: 4 });
  });

  test('a press before the page was hidden does not end with the first frame afterwards', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.press(2, 5);
    clicks.contained(1, 1_500);
    clicks.reset();
    clicks.contained(2, 1_500);
    clicks.frame(54_000_000, 600_000);
    expect(clicks.take()).toBeNull();
  });

  test('a press whose frame is no longer recorded is not attributed to a later frame', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    for (let frame = 0; frame < 600; frame += 1) clicks.frame(frame * 1_500, frame * 16);
    clicks.contained(1, 10 * 1_500);
    expect(clicks.take()).toBeNull();
  });

  const event = fc.oneof(
    fc.record({ what: fc.constant('press' as const) }),
    fc.record({ what: fc.constant('capture' as const), isShown: fc.boolean() }),
    fc.record({ what: fc.constant('show' as const) }),
    fc.record({ what: fc.constant('tell' as const), isLost: fc.boolean() }),
  );

  test('in any order of messages and frames, a press ends with the first frame that contains it', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 300 }),
        fc.integer({ min: 0, max: 0xffff_ffff }),
        (events, origin) => {
          // If more than 64 presses are pending, the oldest are dropped.
          fc.pre(events.filter(({ what }) => what === 'press').length <= 64);
          const clicks = new ClickToPhoton();
          /** Model of the host: frames in the order of their capture, each with the last press before it. */
          const frames: { rtp: number; isShown: boolean; seq: number; displayMs: number | null }[] = [];
          const presses: { seq: number; sentMs: number; rtp: number | null }[] = [];
          const told = new Set<number>();
          let [nowMs, captured, shown, toldTo] = [1_000, 0, 0, 0];
          for (const step of events) {
            nowMs += 3;
            if (step.what === 'press') {
              presses.push({ seq: presses.length + 1, sentMs: nowMs, rtp: null });
              clicks.press(presses.length, nowMs);
            } else if (step.what === 'capture') {
              const rtp = (origin + captured * 1_500) >>> 0;
              captured += 1;
              for (const press of presses) press.rtp ??= rtp;
              frames.push({ rtp, isShown: step.isShown, seq: presses.length, displayMs: null });
            } else if (step.what === 'show') {
              const frame = frames[shown];
              if (frame === undefined) continue;
              shown += 1;
              if (!frame.isShown) continue;
              frame.displayMs = nowMs;
              clicks.frame(frame.rtp, nowMs);
            } else {
              const frame = frames[toldTo];
              if (frame === undefined) continue;
              toldTo += 1;
              const press = presses.find(({ seq }) => seq === frame.seq);
              if (step.isLost || press?.rtp == null) continue;
              told.add(press.seq);
              clicks.contained(press.seq, press.rtp);
            }
          }
          const expected = presses.flatMap(({ seq, sentMs, rtp }) => {
            if (!told.has(seq) || rtp === null) return [];
            const end = frames.find((frame) => frame.displayMs !== null && !isNewerSeq(rtp, frame.rtp));
            return end?.displayMs == null ? [] : [end.displayMs - sentMs];
          });
          const n = expected.length;
          expect(clicks.take()).toEqual(
            n === 0 ? null : { click_to_photon_ms: median(expected), click_to_photon_n: n },
          );
        },
      ),
    );
  });
});
