import { MAX_PREFLIGHT_SDP } from '@footlight/protocol/preflight';
import { expect, test } from 'vitest';
import { fallbackOrder } from '../media/fallback/fallback-messages.ts';
import { preflightOutcome } from './preflight-messages.ts';

const CONNECTION = { ufrag: 'a'.repeat(256), pwd: 'b'.repeat(256), port: 65_535 };
const answer = (part: object = {}, sdp = 'v'.repeat(MAX_PREFLIGHT_SDP)) => ({
  type: 'answer',
  sdp,
  connection: { ...CONNECTION, ...part },
});
const isRead = (outcome: unknown) => preflightOutcome.safeParse(outcome).success;

test('the largest outcome is read, and the fallback port accepts its connection', () => {
  expect(isRead(answer())).toBe(true);
  expect(isRead({ type: 'refused', why: 'x'.repeat(512) })).toBe(true);
  const order = { type: 'register', ...CONNECTION, address: '127.0.0.1' };
  expect(fallbackOrder.safeParse(order).success).toBe(true);
});

test.each([
  ['a fragment that is too long', answer({ ufrag: 'a'.repeat(257) })],
  ['a password that is too long', answer({ pwd: 'b'.repeat(257) })],
  ['port 0', answer({ port: 0 })],
  ['a port above 65535', answer({ port: 65_536 })],
  ['an answer that is too long for the ack', answer({}, 'v'.repeat(MAX_PREFLIGHT_SDP + 1))],
  ['a reason that is too long for the ack', { type: 'refused', why: 'x'.repeat(513) }],
])('an exploited test process cannot pass on %s', (_what, outcome) => {
  expect(isRead(outcome)).toBe(false);
});
