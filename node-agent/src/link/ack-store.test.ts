import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { AckStore } from './ack-store.ts';

describe('stored acks', () => {
  test('a command has one effect per id, even while its first copy is still being decided', async () => {
    const store = new AckStore(new ManualClock());
    let effects = 0;
    const decide = async () => {
      effects += 1;
      return { ok: true } as const;
    };
    await Promise.all([store.once('a', decide), store.once('a', decide)]);
    await store.once('a', decide);
    expect(effects).toBe(1);
  });

  test('512 acks are kept for ten minutes', async () => {
    const clock = new ManualClock();
    const store = new AckStore(clock);
    for (let count = 0; count < 600; count++) await store.once(String(count), async () => ({ ok: true }));
    expect(store.size).toBe(512);
    clock.advance(600_001);
    await store.once('new', async () => ({ ok: true }));
    expect(store.size).toBe(1);
  });
});
