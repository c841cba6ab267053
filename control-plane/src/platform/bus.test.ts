import { createLogger } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../testing/index.ts';
import { createInProcessBus } from './bus.ts';

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
    bus.subscribe('a', (payload) => heard.push(['first', payload]));
    bus.subscribe('a', (payload) => heard.push(['second', payload]));
    bus.publish('a', 1);
    bus.publish('a', 2);
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
    const subscription = bus.subscribe('a', (payload) => heard.push(payload));
    bus.publish('a', 1);
    subscription.close();
    subscription.close();
    bus.publish('a', 2);
    await Promise.resolve();
    expect(heard).toEqual([]);
  });

  test('a listener that throws is logged and costs the others nothing', async () => {
    const { bus, log } = setUp();
    const heard: unknown[] = [];
    bus.subscribe('a', () => {
      throw new Error('broken');
    });
    bus.subscribe('a', (payload) => heard.push(payload));
    bus.publish('a', 1);
    await Promise.resolve();
    expect(heard).toEqual([1]);
    expect(log.join()).toContain('bus.listener_failed');
  });

  test('a request gets the one answer, null without a listener, after a failure and after the time limit', async () => {
    const { bus, clock } = setUp();
    expect(await bus.request('a', 1, 100)).toBeNull();
    const responder = bus.respond('a', async (payload) => ({ got: payload }));
    expect(await bus.request('a', 1, 100)).toEqual({ got: 1 });
    bus.respond('a', async () => {
      throw new Error('broken');
    });
    responder.close();
    expect(await bus.request('a', 1, 100)).toBeNull();
    bus.respond('a', () => new Promise(() => undefined));
    const late = bus.request('a', 1, 100);
    await clock.pass(100);
    expect(await late).toBeNull();
  });

  test('after close nothing is delivered', async () => {
    const { bus } = setUp();
    const heard: unknown[] = [];
    bus.subscribe('a', (payload) => heard.push(payload));
    await bus.close();
    bus.publish('a', 1);
    await Promise.resolve();
    expect(heard).toEqual([]);
    expect(await bus.request('a', 1, 100)).toBeNull();
  });
});
