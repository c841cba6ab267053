import { ManualClock } from '@footlight/platform/testing';
import type { AppSpec } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { type FetchOptions, LaunchError } from '../../runtime/runtime.ts';
import { IMAGE_WAIT_MS, waitForImage } from './image-wait.ts';

const app: AppSpec = { image: 'x', args: [], env: {}, mounts: [], gpu: false, label: 'x' };

function waiting(assignedAgoMs = 0) {
  const clock = new ManualClock();
  const ended = new AbortController();
  const reports: number[] = [];
  let options: FetchOptions | null = null;
  let settle: (error?: Error) => void = () => undefined;
  const outcome = waitForImage(app, {
    clock,
    ended: ended.signal,
    assignedAtMs: clock.monotonicMs() - assignedAgoMs,
    report: (percent) => reports.push(percent),
    runtime: {
      fetch: (_app, given) => {
        options = given;
        return new Promise((resolve, reject) => {
          settle = (error) => (error ? reject(error) : resolve());
        });
      },
    },
  });
  const pulled = (percent: number) => options?.onPercent(percent);
  return {
    clock,
    ended,
    reports,
    outcome,
    pulled,
    settle: (error?: Error) => settle(error),
    left: () => options?.ended.aborted,
  };
}

describe('a launch that waits for its image', () => {
  test('without a pull reports nothing', async () => {
    const { clock, reports, outcome, settle } = waiting();
    clock.advance(60_000);
    settle();
    expect([await outcome, reports]).toEqual([null, []]);
  });

  test('reports the progress of the pull: at once, at most every second, at least every ten seconds', async () => {
    const { clock, reports, outcome, pulled, settle } = waiting();
    pulled(0);
    pulled(1);
    clock.advance(1_000);
    pulled(7);
    expect(reports).toEqual([0, 7]);
    clock.advance(10_000);
    expect(reports.length).toBeGreaterThanOrEqual(3);
    expect(new Set(reports.slice(2))).toEqual(new Set([7]));
    settle();
    expect(await outcome).toBe(null);
    clock.advance(60_000);
    expect(reports.length).toBeLessThan(6);
  });

  test.each([
    ['after 840 s', 0],
    ['a wait for a home included', 500_000],
  ])('ends %s, and the pull continues without it', async (_name, agoMs) => {
    const { clock, outcome, pulled, left } = waiting(agoMs);
    pulled(50);
    clock.advance(IMAGE_WAIT_MS - agoMs - 1);
    expect(left()).toBe(false);
    clock.advance(1);
    expect(await outcome).toMatchObject({ code: 'image_pull_timeout' });
    expect(left()).toBe(true);
  });

  test('fails with the code of the failure', async () => {
    const { outcome, settle } = waiting();
    settle(new LaunchError('container_failed', 'no engine'));
    expect(await outcome).toEqual({ code: 'container_failed', error: 'no engine' });
  });

  test('whose session is ended does not fail', async () => {
    const { outcome, settle, ended, left } = waiting();
    ended.abort();
    expect(left()).toBe(true);
    settle(new Error('given up'));
    expect(await outcome).toBe(null);
  });
});
