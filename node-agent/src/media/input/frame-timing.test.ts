import { decodeInput, encodeButton, type Frame } from '@footlight/protocol/input';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConnectedChannels, RecordedInput } from '../testing/recorded-input.ts';
import { FrameTiming } from './frame-timing.ts';
import { SessionInput } from './session-input.ts';

const frame = (timing: FrameTiming, capturedAtMs: number) =>
  timing.frame({
    rtpTimestamp: capturedAtMs * 90,
    capturedAtMs,
    captureWallMs: 1e12 + capturedAtMs,
    encodeMs: 4.2,
  });

describe('the first frame that contains an input', () => {
  test('is the first one captured after the input was applied, whichever was handled first', () => {
    const timing = new FrameTiming();
    frame(timing, 0);
    timing.applied('input', 9, 20);
    expect(frame(timing, 16)).toBeNull();
    expect(frame(timing, 33)).toMatchObject({
      input_seq: 9,
      input_rtp_timestamp: 33 * 90,
      rtp_timestamp: 33 * 90,
      capture_ms: 1e12 + 33,
      encode_ms: 4.2,
    });
    timing.applied('motion', 41, 34);
    expect(frame(timing, 300)).toMatchObject({ input_seq: 9, input_rtp_timestamp: 33 * 90, motion_seq: 41 });
  });

  test('four reports a second without input, every frame on request', () => {
    const timing = new FrameTiming();
    const told = () =>
      Array.from({ length: 61 }, (_, index) => frame(timing, index * 16.667 + 1000)).filter(Boolean);
    expect(told().length).toBeLessThanOrEqual(5);
    timing.everyFrame = true;
    expect(told()).toHaveLength(61);
  });

  test('at most 60 a second for inputs', () => {
    const timing = new FrameTiming();
    let told = 0;
    for (let index = 0; index < 240; index++) {
      timing.applied('input', index, index * 4);
      if (frame(timing, index * 4)) told++;
    }
    expect(told).toBeLessThanOrEqual(61);
  });

  test('at 120 frames a second, the next reported frame also names an input of the skipped frame', () => {
    const timing = new FrameTiming();
    frame(timing, 0);
    timing.applied('input', 1, 1);
    expect(frame(timing, 8)).toBeNull();
    expect(frame(timing, 17)).toMatchObject({ input_seq: 1, input_rtp_timestamp: 8 * 90 });
    expect(frame(timing, 25)).toBeNull();
  });

  test('for any inputs and frames, a report names the last input before its capture and the first frame after it', () => {
    const step = fc.record({ passMs: fc.nat(20), what: fc.constantFrom('input', 'frame') });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.nat(40),
        fc.boolean(),
        (steps, delayMs, everyFrame) => {
          const timing = new FrameTiming();
          timing.everyFrame = everyFrame;
          const inputs: { seq: number; atMs: number }[] = [];
          const captured: number[] = [];
          let nowMs = 1_000;
          let told = 0;
          for (const { passMs, what } of steps) {
            nowMs += passMs + 1;
            if (what === 'input') {
              inputs.push({ seq: inputs.length + 1, atMs: nowMs });
              timing.applied('input', inputs.length, nowMs);
              continue;
            }
            // A frame is reported some time after its capture, when later inputs may have been applied.
            const capturedAtMs = Math.max(nowMs - delayMs, (captured.at(-1) ?? 0) + 1);
            captured.push(capturedAtMs);
            const report = frame(timing, capturedAtMs);
            if (report === null) continue;
            told++;
            const last = inputs.findLast(({ atMs }) => atMs <= capturedAtMs);
            expect(report.input_seq).toBe(last?.seq ?? 0);
            if (last)
              expect(report.input_rtp_timestamp).toBe((captured.find((atMs) => atMs >= last.atMs) ?? 0) * 90);
          }
          if (everyFrame) expect(told).toBe(captured.length);
        },
      ),
    );
  });
});

describe('an input counts as applied when it was injected', () => {
  let world: RecordedInput;
  beforeEach(() => {
    world = new RecordedInput();
    // A hold time of two frames at 60 fps.
    world.input = new SessionInput(world.clock, world.size, null, 34);
    world.input.connect(world.display, null);
  });
  afterEach(() => world.close());

  const press = ({ channels }: ConnectedChannels, seq: number, down: boolean) =>
    channels.onMessage('input', Buffer.from(encodeButton({ seq, t: 0, button: 0, down, position: null })));
  /** The timing message about a frame that is captured now; null: no message was sent. */
  const shown = ({ channels, sent }: ConnectedChannels): Frame | null => {
    sent.length = 0;
    const capturedAtMs = world.clock.monotonicMs();
    channels.onFrame({ rtpTimestamp: capturedAtMs * 90, capturedAtMs, captureWallMs: 0, encodeMs: null });
    const decoded = sent[0] && decodeInput(sent[0].data as Buffer, 'motion', 'viewer');
    return decoded?.kind === 'message' && decoded.message.kind === 'frame' ? decoded.message : null;
  };

  test('so a click whose press and release arrive together is reported for its press', () => {
    const viewer = world.connect();
    press(viewer, 1, true);
    press(viewer, 2, false);
    world.clock.advance(17);
    const clickedAtMs = world.clock.monotonicMs();
    expect(shown(viewer)).toMatchObject({ input_seq: 1, input_rtp_timestamp: clickedAtMs * 90 });
    world.clock.advance(17);
    expect(shown(viewer)).toMatchObject({ input_seq: 2 });
  });

  test('so a second click that waits for the first is reported by the frame after its own press', () => {
    const viewer = world.connect();
    for (const [seq, down] of [
      [1, true],
      [2, false],
      [3, true],
    ] as const)
      press(viewer, seq, down);
    const named = [0, 17, 17, 17, 17].map((passMs) => {
      world.clock.advance(passMs);
      return shown(viewer)?.input_seq;
    });
    expect(named).toEqual([1, undefined, 2, undefined, 3]);
    expect(world.performed.map(([name, , down]) => [name, down])).toEqual([
      ['button', true],
      ['button', false],
      ['button', true],
    ]);
  });

  test('and an input that the display drops is not reported', () => {
    world.input = new SessionInput(world.clock, world.size, null, 34);
    const viewer = world.connect();
    press(viewer, 1, true);
    expect(shown(viewer)).toMatchObject({ input_seq: 0 });
  });
});
