import { describe, expect, test } from 'vitest';
import { session } from '../../test/fixtures.ts';
import { ApiFailure } from '../api/client.ts';
import { judgeRefusal } from './refusal.ts';

const running = session(0, { state: 'running' });
const ending = session(1, { state: 'stopping' });
const live = [running, ending];
const refused = (code: string, extras: Partial<ApiFailure> = {}) =>
  new ApiFailure(409, code as 'conflict', '', extras);

describe('a refused launch', () => {
  test.each<[string, ApiFailure | null, ReturnType<typeof judgeRefusal>]>([
    ['quota', refused('session_quota_exceeded'), { kind: 'own', sessions: [running] }],
    ['home', refused('home_in_use', { sessionId: running.id }), { kind: 'own', sessions: [running] }],
    [
      'a home held by a session that is not listed yet',
      refused('home_in_use', { sessionId: 'other' }),
      { kind: 'elsewhere', sessionId: 'other' },
    ],
    ['a home held by an unknown session', refused('home_in_use'), { kind: 'tell' }],
    [
      'a full fleet waits as long as the service asks',
      refused('capacity_exhausted', { retryAfterSecs: 7 }),
      { kind: 'wait', afterMs: 7000, sessions: [running] },
    ],
    [
      'a full fleet without the header',
      refused('capacity_exhausted'),
      { kind: 'wait', afterMs: 5000, sessions: [running] },
    ],
    [
      'too often',
      refused('rate_limited', { retryAfterSecs: 0 }),
      { kind: 'wait', afterMs: 1000, sessions: [] },
    ],
    ['a home whose session is ending', refused('home_in_use', { sessionId: ending.id }), { kind: 'tell' }],
    ['nothing could ever fit', refused('no_host_available'), { kind: 'tell' }],
    // The launch may have happened nevertheless, so it is never retried automatically.
    ['a launch without an answer', new ApiFailure(0, 'network', ''), { kind: 'tell' }],
    ['a fault of the page', null, { kind: 'tell' }],
  ])('%s', (_what, error, expected) => expect(judgeRefusal(error, live)).toEqual(expected));

  test('an exceeded quota without a session to end is explained', () => {
    expect(judgeRefusal(refused('session_quota_exceeded'), [ending])).toEqual({ kind: 'tell' });
  });
});
