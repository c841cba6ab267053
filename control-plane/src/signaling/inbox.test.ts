import { describe, expect, test } from 'vitest';
import { RelayFilter } from './inbox.ts';

describe('messages that are relayed', () => {
  const pc = '11111111-1111-4111-8111-111111111111';
  const candidate = (pc_id = pc) => ({ type: 'candidate' as const, pc_id, candidate: 'c', mid: '0' });
  const renegotiate = { type: 'renegotiate' as const, pc_id: pc, reason: 'user' as const };

  test('64 candidates of a peer connection', () => {
    const filter = new RelayFilter();
    for (let count = 0; count < 64; count += 1) expect(filter.passes(candidate(), 0)).toBe(true);
    expect(filter.passes(candidate(), 0)).toBe(false);
    expect(filter.passes(candidate('22222222-2222-4222-8222-222222222222'), 0)).toBe(true);
  });

  test('one renegotiation in 3 s', () => {
    const filter = new RelayFilter();
    expect(filter.passes(renegotiate, 0)).toBe(true);
    expect(filter.passes(renegotiate, 2_999)).toBe(false);
    expect(filter.passes(renegotiate, 3_000)).toBe(true);
  });

  test('answers and goodbyes always', () => {
    const filter = new RelayFilter();
    expect(filter.passes({ type: 'answer', pc_id: pc, sdp: '' }, 0)).toBe(true);
    expect(filter.passes({ type: 'bye' }, 0)).toBe(true);
  });
});
