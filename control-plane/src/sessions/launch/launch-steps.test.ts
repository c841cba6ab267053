import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assigned, beginLaunch, endLaunch, endUnseenLaunch, isPresented, reported } from './launch-steps.ts';

describe('the steps of a launch', () => {
  const launch = reported(
    reported(
      reported(assigned(beginLaunch(1_000, 1_020), 1_050), 'starting display', 1_070),
      'words of an app',
      1_080,
    ),
    'app presented',
    1_400,
  );

  test('follow each other from the request to the picture', () => {
    expect(endLaunch(launch, 1_500)).toEqual([
      { name: 'admission', startMs: 1_000, endMs: 1_020 },
      { name: 'session_assign', startMs: 1_020, endMs: 1_050 },
      { name: 'session_start', startMs: 1_050, endMs: 1_070 },
      { name: 'starting display', startMs: 1_070, endMs: 1_400 },
      { name: 'picture at the viewer', startMs: 1_400, endMs: 1_500 },
    ]);
  });

  test('end with the first window of the app where no viewer came', () => {
    expect(isPresented(launch)).toBe(true);
    expect(endUnseenLaunch(launch).at(-1)).toEqual({
      name: 'starting display',
      startMs: 1_070,
      endMs: 1_400,
    });
  });

  test('an ack that comes after the first report begins no step', () => {
    const open = assigned(reported(beginLaunch(0, 1), 'preparing home', 20), 25);
    expect(endLaunch(open, 90).at(-1)).toEqual({ name: 'preparing home', startMs: 20, endMs: 90 });
  });

  test('the progress of a pull is one step', () => {
    const pulling = reported(reported(beginLaunch(0, 1), 'pulling image 1 %', 2), 'pulling image 90 %', 9);
    expect(endLaunch(pulling, 10).map(({ name }) => name)).toEqual([
      'admission',
      'session_assign',
      'pulling image',
    ]);
  });

  test('add up to the whole, whatever a host reports and however the clock is set', () => {
    const report = fc.record({
      detail: fc.constantFrom('starting display', 'starting app', 'app booting', 'app presented', 'else'),
      atMs: fc.integer({ min: -10_000, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(report, { maxLength: 200 }), fc.integer({ max: 100_000 }), (reports, endMs) => {
        const open = reports.reduce(
          (now, { detail, atMs }) => reported(now, detail, atMs),
          beginLaunch(1_000, 1_020),
        );
        const steps = endLaunch(open, endMs);
        expect(steps.length).toBeLessThanOrEqual(32);
        for (const [n, step] of steps.entries()) {
          expect(step.endMs).toBeGreaterThanOrEqual(step.startMs);
          if (n > 0) expect(step.startMs).toBe(steps[n - 1]?.endMs);
        }
      }),
    );
  });
});
