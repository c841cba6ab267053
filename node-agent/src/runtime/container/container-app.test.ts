import { PassThrough } from 'node:stream';
import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import { type AppEngine, ContainerApp } from './container-app.ts';
import { EngineError } from './engine/engine.ts';

/** A fake engine with one running container, whose app ignores SIGTERM. */
function playEngine(overrides: Partial<AppEngine>): { engine: AppEngine; calls: string[] } {
  const calls: string[] = [];
  const engine: AppEngine = {
    output: async () => new PassThrough(),
    start: async () => undefined,
    wait: () => new Promise(() => undefined),
    state: async () => ({ id: 'x', pid: 0, running: true, exitCode: 0, oomKilled: false }),
    signal: async (_, signal) => {
      calls.push(signal);
      return true;
    },
    remove: async () => {
      calls.push('remove');
    },
    ...overrides,
  };
  return { engine, calls };
}

/** Advances the clock past the grace period and past the wait after SIGKILL. */
async function passWaits(clock: ManualClock, stopped: Promise<void>): Promise<void> {
  let isOver = false;
  const over = stopped.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) {
    await clock.advance(1_000);
    await new Promise(setImmediate);
  }
}

test('a stop sends SIGTERM, then SIGKILL, then removes the container', async () => {
  const clock = new ManualClock();
  const { engine, calls } = playEngine({});
  const app = await ContainerApp.open(engine, 'app', clock, null);
  const stopped = app.stop(2_000);
  await passWaits(clock, stopped);
  await stopped;
  expect(calls).toEqual(['SIGTERM', 'SIGKILL', 'remove']);
});

test('an app that ends just before its signal counts as stopped, even if the engine refuses the signal', async () => {
  const clock = new ManualClock();
  const { engine, calls } = playEngine({
    async signal(_, signal) {
      calls.push(signal);
      if (signal === 'SIGKILL') throw new EngineError('can only kill running containers', 500);
      return true;
    },
  });
  const app = await ContainerApp.open(engine, 'app', clock, null);
  const stopped = app.stop(2_000);
  await passWaits(clock, stopped);
  await expect(stopped).resolves.toBeUndefined();
  expect(calls).toEqual(['SIGTERM', 'SIGKILL', 'remove']);
});

test('a stop fails if the container cannot be removed', async () => {
  const clock = new ManualClock();
  const { engine } = playEngine({
    async remove() {
      throw new EngineError('device or resource busy', 500);
    },
  });
  const app = await ContainerApp.open(engine, 'app', clock, null);
  const stopped = app.stop(2_000);
  await passWaits(clock, stopped).catch(() => undefined);
  await expect(stopped).rejects.toThrow('device or resource busy');
});
