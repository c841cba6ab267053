import { createLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import type { Platform } from '../../platform/platform.ts';
import { LiveSessions } from './live.ts';
import { createTransitions } from './transitions.ts';

/** A database in which another transaction changes the row between each read and write. */
function contended(): { platform: Platform; attempts: () => number } {
  let attempts = 0;
  const transaction = async () => {
    attempts += 1;
    return 'changed';
  };
  const platform = { clock: new ManualClock(), logger: createLogger('silent'), database: { transaction } };
  return { platform: platform as unknown as Platform, attempts: () => attempts };
}

const HOOKS: Parameters<typeof createTransitions>[2] = {
  launches: { changed: () => undefined },
  onFailed: () => undefined,
};

describe('a row that changes between every reading and writing', () => {
  test('is refused with 503, because the session exists, after eight attempts', async () => {
    const { platform, attempts } = contended();
    const transitions = createTransitions(platform, new LiveSessions(), HOOKS);
    await expect(transitions.stop('some-session', 'user_requested')).rejects.toMatchObject({
      status: 503,
      code: 'internal',
    });
    expect(attempts()).toBe(8);
  });

  test('does not end the session by a time limit; the next sweep decides again', async () => {
    const { platform } = contended();
    const transitions = createTransitions(platform, new LiveSessions(), HOOKS);
    expect(await transitions.end('some-session', { cause: 'stop_timed_out' }, ['stopping'])).toBe(false);
  });
});
