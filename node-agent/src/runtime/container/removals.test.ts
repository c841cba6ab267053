import { MINUTE_MS, SECOND_MS, silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { EngineError } from './engine/engine.ts';
import { Removals } from './removals.ts';

describe('containers that could not be removed', () => {
  const clock = new ManualClock();
  /** A fake engine with these containers. It fails to remove the containers in `held`. */
  let there: Set<string>;
  let held: Set<string>;
  let isUp: boolean;
  let asked: string[];
  let removals: Removals;
  beforeEach(() => {
    [there, held, isUp, asked] = [new Set(), new Set(), true, []];
    removals = new Removals({
      clock,
      logger: silentLogger(),
      engine: async () => ({
        async remove(name) {
          asked.push(name);
          if (!isUp) throw new EngineError('no answer', null);
          if (held.has(name)) throw new EngineError('device or resource busy', 500);
          there.delete(name);
        },
      }),
    });
  });

  async function pass(ms: number): Promise<void> {
    await clock.advance(ms);
    // Waits a turn of the event loop, because the removal loop awaits several answers.
    await new Promise(setImmediate);
  }

  test('one that the engine cannot remove does not block the others', async () => {
    there = new Set(['held', 'other']);
    held = new Set(['held']);
    for (const name of there) removals.add(name);
    await pass(0);
    await pass(SECOND_MS);
    expect([...there]).toEqual(['held']);
    held.clear();
    await pass(SECOND_MS);
    expect([...there]).toEqual([]);
  });

  test('an engine that does not answer gets one request at a time', async () => {
    isUp = false;
    for (const name of ['a', 'b', 'c']) removals.add(name);
    await pass(0);
    expect(asked).toEqual(['a']);
    isUp = true;
    await pass(SECOND_MS);
    expect(asked).toEqual(['a', 'a', 'b', 'c']);
  });

  test('one whose creation was not answered is removed even if it is created later', async () => {
    removals.add('late', true);
    await pass(0);
    await pass(SECOND_MS);
    expect(asked).toContain('late');
    there.add('late');
    await pass(SECOND_MS);
    expect([...there]).toEqual([]);
    await pass(2 * MINUTE_MS);
    const count = asked.length;
    await pass(MINUTE_MS);
    expect(asked).toHaveLength(count);
  });
});
