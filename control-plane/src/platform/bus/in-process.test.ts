import { createLogger } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ManualClock } from '../../testing/index.ts';
import { createInProcessBus } from './in-process.ts';
import { type BusUnderTest, describeContract, halves } from './testing/contract.ts';

function openBus(): BusUnderTest {
  const clock = new ManualClock();
  const log: string[] = [];
  const bus = createInProcessBus({
    clock,
    logger: createLogger('debug', { write: (line) => void log.push(line) }),
  });
  return {
    near: bus,
    far: bus,
    log,
    // All microtasks run before setImmediate.
    settled: () => new Promise(setImmediate),
    pass: (ms) => clock.pass(ms),
    close: () => bus.close(),
  };
}

describe('the bus of one replica', () => {
  describeContract(async () => openBus());

  test('calls a later responder instead of the earlier one', async () => {
    const { near } = openBus();
    near.respond(halves, 'a', async () => 1);
    const later = near.respond(halves, 'a', async () => 2);
    expect(await near.request(halves, 'a', 8, 100)).toEqual({ kind: 'reply', reply: 2 });
    later.close();
    expect(await near.request(halves, 'a', 8, 100)).toEqual({ kind: 'reply', reply: 1 });
  });

  test('refuses a payload that another process could not receive', () => {
    const { near } = openBus();
    const dates = { name: 'dates', payload: z.object({ at: z.date() }) };
    near.subscribe(dates, 'a', () => {});
    expect(() => near.publish(dates, 'a', { at: new Date(0) })).toThrow('expected date');
  });
});
