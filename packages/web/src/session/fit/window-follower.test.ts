import type { Display } from '@footlight/protocol/input';
import { beforeEach, describe, expect, test } from 'vitest';
import type { DisplayChange, PictureArea } from './window-fit.ts';
import { type FollowerFacts, WindowFollower } from './window-follower.ts';

const WHOLE = { render_width: 1280, render_height: 720 };
const TALL = { render_width: 360, render_height: 720 };

let nowMs: number;
let timers: { atMs: number; work: () => void }[];
let asked: DisplayChange[];
let answer: (change: DisplayChange) => Promise<unknown>;
let facts: FollowerFacts;
let follower: WindowFollower;

beforeEach(() => {
  [nowMs, timers, asked] = [0, [], []];
  answer = () => Promise.resolve();
  const launch = { width: 1280, height: 720 };
  const display: Display = {
    type: 'display',
    ...WHOLE,
    ui_scale: 1,
    stream_width: 1280,
    stream_height: 720,
    owner: 'auto',
  };
  facts = {
    following: true,
    live: true,
    area: { width: 1280, height: 720, dpr: 1 },
    bounds: { launch, rungs: [[1280, 720]], resizable: true },
    display,
  };
  follower = new WindowFollower({
    request: (change) => {
      asked.push(change);
      return answer(change);
    },
    nowMs: () => nowMs,
    after: (ms, work) => {
      const timer = { atMs: nowMs + ms, work };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  });
});

/** Advances the clock in steps, so that answers arrive in between. */
async function pass(ms: number): Promise<void> {
  for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 10) {
    const due = timers.filter((timer) => timer.atMs <= nowMs);
    timers = timers.filter((timer) => timer.atMs > nowMs);
    for (const timer of due) timer.work();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
const update = (part: Partial<FollowerFacts>) => {
  facts = { ...facts, ...part };
  follower.update(facts);
};
const upright = (height: number): PictureArea => ({ width: 360, height, dpr: 1 });

describe('a session follows its window', () => {
  test('one request for a window that is being resized, after it stops', async () => {
    update({});
    await pass(500);
    expect(asked).toEqual([]);
    for (let height = 500; height < 720; height += 20) {
      update({ area: upright(height) });
      await pass(50);
    }
    update({ area: upright(720) });
    await pass(290);
    expect(asked).toEqual([]);
    await pass(2_000);
    expect(asked).toEqual([TALL]);
  });

  test('one request at a time and one a second; the last one has the newest size', async () => {
    let done: () => void = () => undefined;
    answer = () => new Promise<void>((resolve) => (done = resolve));
    update({ area: upright(720) });
    await pass(400);
    update({ area: upright(600) });
    await pass(2_000);
    update({ area: upright(480) });
    await pass(2_000);
    expect(asked).toEqual([TALL]);
    done();
    await pass(900);
    expect(asked.length).toBe(1);
    await pass(300);
    expect(asked).toEqual([TALL, { render_width: 360, render_height: 480 }]);
  });

  test('nothing is requested while no picture is live, or while the page covers it', async () => {
    update({ live: false, area: upright(720) });
    await pass(5_000);
    expect(asked).toEqual([]);
    update({ live: true });
    await pass(100);
    expect(asked).toEqual([TALL]);
  });

  test('nothing is requested without the person’s choice; undoing it restores the display', async () => {
    update({ following: false, area: upright(720) });
    await pass(2_000);
    expect(asked).toEqual([]);
    update({ following: true });
    await pass(2_000);
    update({ following: false });
    await pass(2_000);
    update({ area: upright(500) });
    await pass(2_000);
    expect(asked).toEqual([TALL, WHOLE]);
  });

  test('a refused request is not repeated until the window changes', async () => {
    answer = () => Promise.reject(new Error('display_update_rejected'));
    update({ area: upright(720) });
    await pass(10_000);
    expect(asked).toEqual([TALL]);
    update({ area: upright(600) });
    await pass(10_000);
    expect(asked.length).toBe(2);
  });

  test('a request refused while an app’s window had a fixed size is repeated afterwards', async () => {
    const fixed = { render_width: 800, render_height: 600, stream_width: 800, stream_height: 600 };
    const { display } = facts;
    if (display === null) throw new Error('no display');
    answer = () => Promise.reject(new Error('display_update_rejected'));
    update({ area: upright(720), display: { ...display, ...fixed } });
    await pass(10_000);
    expect(asked).toEqual([TALL]);
    answer = () => Promise.resolve();
    update({ display });
    await pass(10_000);
    expect(asked).toEqual([TALL, TALL]);
  });

  test('if the picture cannot change its size, only the display does', async () => {
    const rungs = [
      [1280, 720],
      [640, 360],
    ] as const;
    answer = (change) =>
      change.stream_width === undefined ? Promise.resolve() : Promise.reject(new Error('unsupported'));
    const bounds = { launch: { width: 1280, height: 720 }, rungs, resizable: true };
    update({ bounds, area: { width: 600, height: 300, dpr: 1 } });
    await pass(5_000);
    const render = { render_width: 600, render_height: 300 };
    expect(asked).toEqual([{ ...render, stream_width: 640, stream_height: 360 }, render]);
  });

  test('after the page is left, nothing is requested', async () => {
    update({ area: upright(720) });
    follower.dispose();
    await pass(5_000);
    expect(asked).toEqual([]);
  });
});
