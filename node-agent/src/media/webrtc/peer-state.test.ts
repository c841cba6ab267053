import { describe, expect, test } from 'vitest';
import { decideMove, type PeerState } from './peer-state.ts';

/** The transition for each combination of a state here and a state of the library's connection; "-": no transition. */
const TABLE: Record<PeerState, Record<string, string>> = {
  offered: {
    connected: 'connected',
    disconnected: '-',
    failed: 'connection_failed',
    closed: 'connection_failed',
  },
  answered: {
    connected: 'connected',
    disconnected: '-',
    failed: 'handshake_failed',
    closed: 'handshake_failed',
  },
  connected: {
    connected: 'connected',
    disconnected: 'interrupted',
    failed: 'connection_failed',
    closed: 'connection_failed',
  },
  interrupted: {
    connected: 'connected',
    disconnected: '-',
    failed: 'connection_failed',
    closed: 'connection_failed',
  },
  closed: { connected: '-', disconnected: '-', failed: '-', closed: '-' },
};

describe('states of a peer connection', () => {
  const rows = Object.entries(TABLE).flatMap(([state, moves]) =>
    Object.entries({ ...moves, new: '-', connecting: '-' }).map(
      ([reported, to]) => [state, reported, to] as const,
    ),
  );
  test.each(rows)('%s + %s → %s', (state, reported, result) => {
    const move = decideMove(state as PeerState, reported);
    expect(move === null ? '-' : move.to === 'closed' ? move.end : move.to).toBe(result);
  });
});
