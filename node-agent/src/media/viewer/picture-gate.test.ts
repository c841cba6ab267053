import { describe, expect, test } from 'vitest';
import { PictureGate } from './picture-gate.ts';

describe('frames before the keys exist', () => {
  const kept = (frames: string) => {
    const gate = new PictureGate<string>();
    gate.startKeeping();
    for (const frame of frames) gate.keep(frame, frame === 'K');
    return gate.release().join('');
  };

  test.each([
    ['', ''],
    ['ddd', ''],
    ['dKdd', 'Kdd'],
    ['KddKd', 'Kd'],
    [`K${'d'.repeat(11)}`, `K${'d'.repeat(11)}`],
    [`K${'d'.repeat(12)}`, ''],
    [`K${'d'.repeat(20)}Kd`, 'Kd'],
  ])('%j → %j: a keyframe and at most eleven followers', (frames, result) => {
    expect(kept(frames)).toBe(result);
  });

  test('no frame is kept before a path exists, or after the keys exist', () => {
    const gate = new PictureGate<string>();
    gate.keep('K', true);
    expect(gate.isKeeping).toBe(false);
    gate.startKeeping();
    gate.release();
    gate.keep('K', true);
    expect(gate.release()).toEqual([]);
  });
});

describe('frames of a running viewer', () => {
  test('no frame passes before a keyframe, all pass from it on', () => {
    const gate = new PictureGate<string>();
    expect([false, true, false, false].map((isStart) => gate.passes(isStart))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  test('after an intentional loss no frame passes before the next keyframe', () => {
    const gate = new PictureGate<string>();
    gate.passes(true);
    gate.needKeyframe();
    expect(gate.awaitsKeyframe).toBe(true);
    expect(gate.passes(false)).toBe(false);
    expect(gate.passes(true)).toBe(true);
    expect(gate.awaitsKeyframe).toBe(false);
  });
});
