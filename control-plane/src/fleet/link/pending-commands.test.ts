import { beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../testing/index.ts';
import { PendingCommands } from './pending-commands.ts';
import { TimerWheel } from './timer-wheel.ts';

describe('commands that wait for their ack', () => {
  let clock: ManualClock;
  let commands: PendingCommands;
  beforeEach(() => {
    clock = new ManualClock();
    commands = new PendingCommands(new TimerWheel(clock));
  });
  const ack = (id: string, extras = {}) => ({ type: 'ack' as const, id, ok: true, ...extras });

  test('are settled by their own ack, in any order', async () => {
    const [first, second] = [commands.start('1', 5_000, () => true), commands.start('2', 5_000, () => true)];
    commands.acked(ack('2', { ok: false, code: 'busy', error: 'one at a time' }));
    commands.acked(ack('1'));
    commands.acked(ack('2'));
    expect(await first).toEqual({ kind: 'ok' });
    expect(await second).toEqual({ kind: 'refused', code: 'busy', error: 'one at a time' });
  });

  test('a refusal without a code is internal', async () => {
    const result = commands.start('1', 5_000, () => true);
    commands.acked(ack('1', { ok: false }));
    expect(await result).toEqual({ kind: 'refused', code: 'internal', error: '' });
  });

  test('time out, and an ack that comes later changes nothing', async () => {
    const result = commands.start('1', 5_000, () => true);
    await clock.pass(5_250);
    expect(await result).toEqual({ kind: 'timeout' });
    commands.acked(ack('1'));
  });

  test('end with the link', async () => {
    const result = commands.start('1', 5_000, () => true);
    commands.linkLost();
    expect(await result).toEqual({ kind: 'not_connected', sent: true });
  });

  test('that cannot be sent fail at once', async () => {
    expect(await commands.start('1', 5_000, () => false)).toEqual({ kind: 'not_connected', sent: false });
  });

  test('are bounded', async () => {
    for (let n = 0; n < 2_048; n += 1) void commands.start(String(n), 5_000, () => true);
    expect(await commands.start('more', 5_000, () => true)).toEqual({ kind: 'not_connected', sent: false });
    commands.linkLost();
  });
});
