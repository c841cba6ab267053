import { createLogger } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ManualClock } from '../../testing/index.ts';
import { createInProcessBus } from './in-process.ts';

const numbers = { name: 'numbers', payload: z.number() };
const halves = { name: 'halves', payload: z.number(), reply: z.number() };

function setUp() {
  const clock = new ManualClock();
  const log: string[] = [];
  const bus = createInProcessBus({
    clock,
    logger: createLogger('debug', { write: (line) => void log.push(line) }),
  });
  return { bus, clock, log };
}

describe('the bus of one replica', () => {
  test('delivers to every subscriber, in order, after publish returned', async () => {
    const { bus } = setUp();
    const heard: unknown[] = [];
    bus.subscribe(numbers, 'a', (payload) => heard.push(['first', payload]));
    bus.subscribe(numbers, 'a', (payload) => heard.push(['second', payload]));
    bus.publish(numbers, 'a', 1);
    bus.publish(numbers, 'a', 2);
    expect(heard).toEqual([]);
    await Promise.resolve();
    await Promise.resolve();
    expect(heard).toEqual([
      ['first', 1],
      ['second', 1],
      ['first', 2],
      ['second', 2],
    ]);
  });

  test('a closed subscription hears nothing more; closing twice is fine', async () => {
    const { bus } = setUp();
    const heard: unknown[] = [];
    const subscription = bus.subscribe(numbers, 'a', (payload) => heard.push(payload));
    bus.publish(numbers, 'a', 1);
    subscription.close();
    subscription.close();
    bus.publish(numbers, 'a', 2);
    await Promise.resolve();
    expect(heard).toEqual([]);
  });

  test('a listener that throws is logged and costs the others nothing', async () => {
    const { bus, log } = setUp();
    const heard: unknown[] = [];
    bus.subscribe(numbers, 'a', () => {
      throw new Error('broken');
    });
    bus.subscribe(numbers, 'a', (payload) => heard.push(payload));
    bus.publish(numbers, 'a', 1);
    await Promise.resolve();
    expect(heard).toEqual([1]);
    expect(log.join()).toContain('bus.listener_failed');
  });

  test('delivers by key, and messages with any key to a subscriber without one', async () => {
    const { bus } = setUp();
    const heard: unknown[] = [];
    bus.subscribe(numbers, 'a', (payload, key) => heard.push(['a only', payload, key]));
    bus.subscribe(numbers, null, (payload, key) => heard.push(['all', payload, key]));
    bus.publish(numbers, 'a', 1);
    bus.publish(numbers, 'b', 2);
    await Promise.resolve();
    await Promise.resolve();
    expect(heard).toEqual([
      ['a only', 1, 'a'],
      ['all', 1, 'a'],
      ['all', 2, 'b'],
    ]);
  });

  test('a request says whether it reached a responder', async () => {
    const { bus, clock } = setUp();
    expect(await bus.request(halves, 'a', 1, 100)).toEqual({ kind: 'no_responder' });
    const responder = bus.respond(halves, 'a', async (payload) => payload / 2);
    expect(await bus.request(halves, 'a', 8, 100)).toEqual({ kind: 'reply', reply: 4 });
    bus.respond(halves, 'a', async () => {
      throw new Error('broken');
    });
    responder.close();
    expect(await bus.request(halves, 'a', 1, 100)).toEqual({ kind: 'no_answer' });
    bus.respond(halves, 'a', () => new Promise(() => undefined));
    const late = bus.request(halves, 'a', 1, 100);
    await clock.pass(100);
    expect(await late).toEqual({ kind: 'no_answer' });
  });

  test('refuses a payload that another process could not receive', () => {
    const { bus } = setUp();
    const dates = { name: 'dates', payload: z.object({ at: z.date() }) };
    bus.subscribe(dates, 'a', () => {});
    expect(() => bus.publish(dates, 'a', { at: new Date(0) })).toThrow('expected date');
  });

  test('after close nothing is delivered', async () => {
    const { bus } = setUp();
    const heard: unknown[] = [];
    bus.subscribe(numbers, 'a', (payload) => heard.push(payload));
    await bus.close();
    bus.publish(numbers, 'a', 1);
    await Promise.resolve();
    expect(heard).toEqual([]);
    expect(await bus.request(halves, 'a', 1, 100)).toEqual({ kind: 'no_responder' });
  });
});
