import { sessionStates } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import { decideExpiry, type Expired } from './expiry.ts';

const RETENTION = { liveSince: 9_000, endedSince: 5_000 };
const ENDED = ['stopped', 'failed'];

describe('what has expired of a session', () => {
  test.each(sessionStates)('%s', (state) => {
    const at = (ended_at: number | null): Expired => decideExpiry({ id: 'x', state, ended_at }, RETENTION);
    const ended = ENDED.includes(state);
    expect([at(null), at(4_999), at(5_000), at(9_500)]).toEqual(
      ended ? ['reports', 'reports', 'none', 'none'] : ['rolled', 'rolled', 'rolled', 'rolled'],
    );
  });

  test('all of it once it is deleted', () => {
    expect(decideExpiry({ id: 'x', state: null, ended_at: null }, RETENTION)).toBe('all');
  });
});
