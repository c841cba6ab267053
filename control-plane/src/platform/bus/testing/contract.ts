import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Bus } from '../bus.ts';

export const numbers = { name: 'test.numbers', payload: z.number() };
export const halves = { name: 'test.halves', payload: z.number(), reply: z.number() };
export const texts = {
  name: 'test.texts',
  payload: z.object({ n: z.number(), text: z.string() }),
  rawField: 'text',
};

/** Two ends of one bus. With an in-process bus both ends are the same object. */
export interface BusUnderTest {
  near: Bus;
  far: Bus;
  log: readonly string[];
  /** Waits until both ends have received all published messages and know each other's subscriptions. */
  settled(): Promise<void>;
  /** Advances the time. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Tests that every bus must pass. `far` subscribes and `near` publishes. */
export function describeContract(open: () => Promise<BusUnderTest>): void {
  let bus: BusUnderTest;
  let heard: unknown[];
  beforeEach(async () => {
    bus = await open();
    heard = [];
  });
  afterEach(() => bus.close());

  test('delivers to every subscriber, in order, after publish returned', async () => {
    bus.far.subscribe(numbers, 'a', (payload) => heard.push(['first', payload]));
    bus.far.subscribe(numbers, 'a', (payload) => heard.push(['second', payload]));
    bus.near.subscribe(numbers, 'a', (payload) => heard.push(['near', payload]));
    await bus.settled();
    bus.near.publish(numbers, 'a', 1);
    bus.near.publish(numbers, 'a', 2);
    expect(heard).toEqual([]);
    await bus.settled();
    for (const who of ['first', 'second', 'near'])
      expect(heard.filter((entry) => (entry as unknown[])[0] === who)).toEqual([
        [who, 1],
        [who, 2],
      ]);
    expect(heard).toHaveLength(6);
  });

  test.each(['', 'plain', '{"text":"quoted"}', 'two\nlines\n', '\n{"n":2}', 'é 😀 \u0000 \u2028'])(
    'delivers a raw text unchanged: %j',
    async (text) => {
      bus.far.subscribe(texts, 'a', (payload) => heard.push(payload));
      await bus.settled();
      bus.near.publish(texts, 'a', { n: 1, text });
      await bus.settled();
      expect(heard).toEqual([{ n: 1, text }]);
    },
  );

  test('a closed subscription hears nothing more; closing twice is fine', async () => {
    const subscription = bus.far.subscribe(numbers, 'a', (payload) => heard.push(payload));
    await bus.settled();
    subscription.close();
    subscription.close();
    await bus.settled();
    bus.near.publish(numbers, 'a', 2);
    await bus.settled();
    expect(heard).toEqual([]);
  });

  test('a listener that throws is logged and costs the others nothing', async () => {
    bus.far.subscribe(numbers, 'a', () => {
      throw new Error('broken');
    });
    bus.far.subscribe(numbers, 'a', (payload) => heard.push(payload));
    await bus.settled();
    bus.near.publish(numbers, 'a', 1);
    await bus.settled();
    expect(heard).toEqual([1]);
    expect(bus.log.join()).toContain('bus.listener_failed');
  });

  test('delivers by key, and messages with any key to a subscriber without one', async () => {
    const strange = 'a b.*>%é';
    bus.far.subscribe(numbers, 'a', (payload, key) => heard.push(['a only', payload, key]));
    bus.far.subscribe(numbers, strange, (payload, key) => heard.push(['strange only', payload, key]));
    bus.far.subscribe(numbers, null, (payload, key) => heard.push(['all', payload, key]));
    await bus.settled();
    bus.near.publish(numbers, 'a', 1);
    bus.near.publish(numbers, 'b', 2);
    bus.near.publish(numbers, strange, 3);
    await bus.settled();
    expect(heard).toEqual([
      ['a only', 1, 'a'],
      ['all', 1, 'a'],
      ['all', 2, 'b'],
      ['strange only', 3, strange],
      ['all', 3, strange],
    ]);
  });

  test('a request says whether it reached a responder', async () => {
    expect(await bus.near.request(halves, 'a', 1, 100)).toEqual({ kind: 'no_responder' });
    const responder = bus.far.respond(halves, 'a', async (payload) => payload / 2);
    await bus.settled();
    expect(await bus.near.request(halves, 'a', 8, 100)).toEqual({ kind: 'reply', reply: 4 });
    responder.close();
    const broken = bus.far.respond(halves, 'a', async () => {
      throw new Error('broken');
    });
    await bus.settled();
    expect(await bus.near.request(halves, 'a', 1, 100_000)).toEqual({ kind: 'no_answer' });
    broken.close();
    bus.far.respond(halves, 'a', () => new Promise(() => undefined));
    await bus.settled();
    const late = bus.near.request(halves, 'a', 1, 100);
    await bus.pass(100);
    expect(await late).toEqual({ kind: 'no_answer' });
  });

  test('after close nothing is delivered', async () => {
    bus.near.subscribe(numbers, 'a', (payload) => heard.push(payload));
    await bus.settled();
    await bus.near.close();
    bus.near.publish(numbers, 'a', 1);
    await Promise.resolve();
    expect(heard).toEqual([]);
    expect(await bus.near.request(halves, 'a', 1, 100)).toEqual({ kind: 'no_responder' });
  });
}
