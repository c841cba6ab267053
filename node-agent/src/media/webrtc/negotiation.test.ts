import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AttachedSocket,
  decideAttach,
  decideBye,
  decideConnected,
  decideEnd,
  decideRenegotiate,
  decideReplacement,
  electActive,
  type Negotiation,
  type ViewerConnection,
} from './negotiation.ts';
import type { PeerState } from './peer-state.ts';

const connection = (
  pcId: string,
  state: PeerState,
  over: Partial<ViewerConnection> = {},
): ViewerConnection => ({
  pcId,
  clientId: 'alice',
  state,
  leaving: false,
  ...over,
});
const bobs = (pcId: string, state: PeerState) => connection(pcId, state, { clientId: 'bob' });
const socket = (conn: number, over: Partial<AttachedSocket> = {}): AttachedSocket => ({
  conn,
  clientId: 'alice',
  offered: true,
  retried: false,
  ...over,
});
const between = (connections: ViewerConnection[], over: Partial<Negotiation> = {}): Negotiation => ({
  attached: socket(1),
  connections,
  newestPcId: connections.at(-1)?.pcId ?? null,
  renegotiatedAtMs: Number.NEGATIVE_INFINITY,
  ...over,
});

describe('a socket that attaches', () => {
  const attach = (negotiation: Negotiation, conn = 2, resumePcId: string | null = null) =>
    decideAttach(negotiation, { conn, clientId: 'alice', resumePcId });

  test.each([
    ['a session without connections', [], 'first'],
    ['a connection of the same page', [connection('a', 'connected')], 'renegotiate'],
    ['a connection of another page', [bobs('b', 'connected')], 'takeover'],
    ['connections of both', [bobs('b', 'connected'), connection('a', 'connected')], 'takeover'],
  ] as const)('%s: the offer says %s', (_what, connections, reason) => {
    expect(attach(between([...connections]))).toMatchObject({ kind: 'offer', offer: { reason } });
  });

  test.each([
    ['an older number is ignored', 1, 'ignore'],
    ['the same number is a repeat', 2, 'ignore'],
    ['a higher number is a newer socket', 3, 'offer'],
  ])('%s', (_what, conn, kind) => {
    expect(attach(between([], { attached: socket(2) }), conn).kind).toBe(kind);
  });

  test('without an attached socket any number is accepted, because the control plane’s clock may be set back', () => {
    expect(attach(between([], { attached: null }), 1).kind).toBe('offer');
  });

  test.each([
    ['connected, of the same page', connection('a', 'connected'), 'resume'],
    ['offered', connection('a', 'offered'), 'offer'],
    ['answered', connection('a', 'answered'), 'offer'],
    ['interrupted', connection('a', 'interrupted'), 'offer'],
    ['connected, of another page', bobs('a', 'connected'), 'offer'],
    ['connected and about to be closed', connection('a', 'connected', { leaving: true }), 'offer'],
    ['closed already', connection('other', 'connected'), 'offer'],
  ] as const)('resuming a connection that is %s: %s', (_what, own, kind) => {
    expect(attach(between([own]), 2, 'a').kind).toBe(kind);
  });

  test('the first offer of a socket is not careful, even after a careful one on the former socket', () => {
    expect(attach(between([connection('a', 'offered')]))).toMatchObject({ offer: { isCareful: false } });
  });
});

describe('an offer', () => {
  test.each(['offered', 'answered'] as const)('closes a negotiation that is %s', (state) => {
    const connections = [connection('plays', 'connected'), connection('waits', state)];
    expect(
      decideAttach(between(connections), { conn: 2, clientId: 'alice', resumePcId: null }),
    ).toMatchObject({
      offer: { closes: ['waits'] },
    });
  });

  test.each(['connected', 'interrupted'] as const)('keeps a connection that is %s', (state) => {
    expect(decideRenegotiate(between([connection('a', state)]), 'a', 0)).toMatchObject({
      offer: { closes: [] },
    });
  });
});

describe('a viewer that asks for a new connection', () => {
  const both = between([connection('old', 'connected'), connection('new', 'connected')]);

  test('gets an offer for the newest connection', () => {
    expect(decideRenegotiate(both, 'new', 0)).toMatchObject({ offer: { reason: 'renegotiate' } });
  });

  test('is ignored for a replaced or unknown connection, because the newer offer answers it', () => {
    expect(decideRenegotiate(both, 'old', 0).kind).toBe('ignore');
    expect(decideRenegotiate(both, 'unknown', 0).kind).toBe('ignore');
  });

  test('gets one offer in three seconds', () => {
    const asked = { ...both, renegotiatedAtMs: 10_000 };
    expect(decideRenegotiate(asked, 'new', 12_999).kind).toBe('ignore');
    expect(decideRenegotiate(asked, 'new', 13_000).kind).toBe('offer');
  });

  test('gets the first offer again when its connection is gone', () => {
    const gone = between([], { newestPcId: 'new' });
    expect(decideRenegotiate(gone, 'new', 0)).toMatchObject({ offer: { reason: 'first' } });
  });

  test('gets a careful offer, because the former answer of this socket may have been too late', () => {
    expect(decideRenegotiate(both, 'new', 0)).toMatchObject({ offer: { isCareful: true } });
    const fresh = { ...both, attached: socket(2, { offered: false }) };
    expect(decideRenegotiate(fresh, 'new', 0)).toMatchObject({ offer: { isCareful: false } });
  });
});

test('a page that leaves closes its own connections only', () => {
  expect(decideBye(between([bobs('b', 'connected'), connection('a', 'connected')]))).toEqual(['a']);
  expect(decideBye(between([connection('a', 'connected')], { attached: null }))).toEqual([]);
});

describe('a connection that is up (make before break)', () => {
  test('replaces all older ones, and only another page is told about the takeover', () => {
    const list = between([
      bobs('b', 'connected'),
      connection('a', 'connected'),
      connection('new', 'connected'),
    ]);
    expect(decideConnected(list, 'new')).toEqual([
      { pcId: 'b', takenOver: true },
      { pcId: 'a', takenOver: false },
    ]);
  });

  test('leaves newer ones alone', () => {
    expect(
      decideConnected(between([connection('a', 'connected'), connection('new', 'offered')]), 'a'),
    ).toEqual([]);
  });

  test('does nothing when it was closed meanwhile', () => {
    expect(decideConnected(between([connection('a', 'connected')]), 'closed')).toEqual([]);
  });
});

describe('ten seconds after an offer', () => {
  test.each([
    ['connected', 'connected', { closes: ['old'], failed: false }],
    ['connected', 'answered', { closes: ['new'], failed: true }],
    ['connected', 'interrupted', { closes: ['new'], failed: true }],
    ['interrupted', 'connected', { closes: ['old'], failed: false }],
    ['interrupted', 'offered', { closes: ['old'], failed: false }],
  ] as const)('the former is %s and the new one %s: %o', (old, newest, result) => {
    const negotiation = between([connection('old', old), connection('new', newest)]);
    expect(decideReplacement(negotiation)).toEqual(result);
  });

  test('when a new connection has ended, the former one is not closed, and the end is not reported again', () => {
    const negotiation = between([connection('old', 'interrupted')], { newestPcId: 'new' });
    expect(decideReplacement(negotiation)).toEqual({ closes: [], failed: false });
  });
});

describe('the end of a connection', () => {
  const after = (over: Partial<Negotiation> = {}) => between([], { newestPcId: 'a', ...over });

  test.each(['ice_timeout', 'video_rejected', 'answer_rejected'] as const)(
    '%s is reported, without an offer',
    (why) => {
      expect(decideEnd(after(), 'a', why)).toEqual({ error: why, offer: null });
    },
  );

  test('a lost connection waits for the viewer to ask', () => {
    expect(decideEnd(after(), 'a', 'connection_failed')).toEqual({ error: null, offer: null });
  });

  test('a failed handshake gets one more offer, a careful one', () => {
    expect(decideEnd(after(), 'a', 'handshake_failed')).toMatchObject({
      error: null,
      offer: { reason: 'first', isCareful: true },
    });
  });

  test.each([
    ['the second one of a socket', { attached: socket(1, { retried: true }) }],
    ['a replaced connection', { newestPcId: 'newer' }],
    ['no socket', { attached: null }],
  ])('a failed handshake of %s gets none', (_what, over) => {
    expect(decideEnd(after(over), 'a', 'handshake_failed').offer).toBeNull();
  });
});

describe('the connection with picture and input', () => {
  test('is the newest connected one that is not leaving', () => {
    expect(electActive([connection('old', 'connected'), connection('new', 'connected')])).toBe('new');
    expect(electActive([connection('old', 'connected'), connection('new', 'interrupted')])).toBe('old');
    expect(electActive([connection('old', 'connected', { leaving: true })])).toBeNull();
    expect(electActive([])).toBeNull();
  });
});

const anyConnection = fc.record({
  pcId: fc.constantFrom('a', 'b', 'c', 'd'),
  clientId: fc.constantFrom('alice', 'bob'),
  state: fc.constantFrom<PeerState>('offered', 'answered', 'connected', 'interrupted'),
  leaving: fc.boolean(),
});
const anyList = fc.uniqueArray(anyConnection, { selector: ({ pcId }) => pcId, maxLength: 4 });

test('no decision about a replacement closes the connection with the picture', () => {
  fc.assert(
    fc.property(anyList, (connections) => {
      const active = electActive(connections);
      expect(decideReplacement(between(connections)).closes).not.toContain(active);
      if (active !== null) {
        const replaced = decideConnected(between(connections), active).map(({ pcId }) => pcId);
        expect(replaced).not.toContain(active);
      }
    }),
  );
});

test('an offer leaves at most the connections that play', () => {
  fc.assert(
    fc.property(anyList, fc.constantFrom('alice', 'bob'), (connections, clientId) => {
      const decision = decideAttach(between(connections), { conn: 2, clientId, resumePcId: null });
      if (decision.kind !== 'offer') throw new Error('no offer');
      const left = connections.filter(({ pcId }) => !decision.offer.closes.includes(pcId));
      expect(left.every(({ state }) => state === 'connected' || state === 'interrupted')).toBe(true);
    }),
  );
});
