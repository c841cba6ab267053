import { sessionStates } from '@footlight/protocol';
import { describe, expect, test } from 'vitest';
import {
  acceptsViewer,
  closeAfter,
  judgeHello,
  judgeOrder,
  judgeSession,
  judgeViewer,
} from './viewer-rules.ts';

const session = { state: 'running', host_id: 'host' } as const;

describe('the session of a valid token is watched', () => {
  test.each([
    ['while its host is connected', session, true, null],
    ['not when it was deleted', undefined, true, 'session_gone'],
    ['not after its end', { ...session, state: 'failed' }, true, 'session_gone'],
    ['not before it has a host', { ...session, state: 'pending', host_id: null }, true, 'no_host'],
    ['not while its host is away', session, false, 'relay_unavailable'],
    ['an ended one without a host is over', { state: 'stopped', host_id: null }, false, 'session_gone'],
    ['a queued one has no host to be away', { state: 'pending', host_id: null }, false, 'no_host'],
  ] as const)('%s', (_, found, hasLink, close) => {
    expect(judgeSession(found, hasLink)?.close ?? null).toBe(close);
  });

  test.each(sessionStates)('in state %s', (state) => {
    const ended = state === 'stopped' || state === 'failed';
    expect(judgeSession({ ...session, state }, true)?.close ?? null).toBe(ended ? 'session_gone' : null);
  });
});

describe('a hello is accepted', () => {
  test.each([
    ['with H.264, which every page plays', 1, [], 'h264', null],
    ['with the codec of the session', 1, ['h265'], 'h265', null],
    ['not without the codec of the session', 1, ['h264', 'av1'], 'h265', 'codec_unsupported'],
    ['not in another version', 2, [], 'h264', 'protocol_unsupported'],
    ['the version counts before the codec', 2, [], 'h265', 'protocol_unsupported'],
  ] as const)('%s', (_, protocol, codecs, codec, close) => {
    expect(judgeHello({ protocol, codecs: [...codecs] }, { codec })?.close ?? null).toBe(close);
  });
});

describe('a hello comes first, and once', () => {
  test.each([
    ['greeting', 'hello', null],
    ['greeting', 'answer', 'malformed'],
    ['open', 'hello', 'malformed'],
    ['open', 'answer', null],
  ] as const)('%s + %s → %s', (phase, type, close) => {
    expect(judgeOrder(phase, type)?.close ?? null).toBe(close);
  });
});

test.each(sessionStates)('the agent takes viewers in state %s once its relay is ready', (state) => {
  const live = state === 'starting' || state === 'running';
  expect(acceptsViewer({ state, relay_ready: true })).toBe(live);
  expect(acceptsViewer({ state, relay_ready: false })).toBe(false);
});

describe('the newest socket of a session wins', () => {
  const mine = { conn: 5, clientId: 'page' };
  test.each([
    ['an older one changes nothing', { conn: 4, client_id: 'other' }, 'older'],
    ['its own announcement changes nothing', { conn: 5, client_id: 'page' }, 'older'],
    ['the same page reconnected', { conn: 6, client_id: 'page' }, 'reconnected'],
    ['another page took over', { conn: 6, client_id: 'other' }, 'taken_over'],
  ] as const)('%s', (_, other, verdict) => {
    expect(judgeViewer(mine, other)).toBe(verdict);
  });
});

test.each([
  [{ type: 'bye', reason: 'taken_over' }, 'taken_over'],
  [{ type: 'bye', reason: 'session_ended' }, 'session_gone'],
  [{ type: 'bye', reason: 'host_lost' }, 'session_gone'],
  [{ type: 'bye', reason: 'going_away' }, 'relay_unavailable'],
  [{ type: 'bye', reason: 'guest_ended' }, 'guest_ended'],
  [{ type: 'bye', reason: 'owner_away' }, 'owner_away'],
  [{ type: 'error', code: 'invalid_message' }, 'malformed'],
  [{ type: 'error', code: 'video_rejected' }, 'codec_unsupported'],
  [{ type: 'error', code: 'rate_limited' }, 'flooded'],
  [{ type: 'error', code: 'internal' }, 'relay_unavailable'],
] as const)('after %j of the agent the socket closes as %s', (last, close) => {
  expect(closeAfter({ message: '', fatal: true, ...last } as Parameters<typeof closeAfter>[0])).toBe(close);
});
