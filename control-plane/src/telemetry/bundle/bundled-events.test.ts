import { AGENT_EVENT_TYPES, BROWSER_EVENT_TYPES } from '@footlight/protocol/telemetry';
import { describe, expect, test } from 'vitest';
import { bundledPayload } from './bundled-events.ts';

describe('a bundle shows the known fields of an event', () => {
  test.each([
    ['encoder.stall', { phase: 'detected', since_ms: 3, secret: 'x' }, { phase: 'detected', since_ms: 3 }],
    [
      'sdp.answer_applied',
      { pc: 'p', sdp: 'v=0', m_lines: [{ mid: '0', ice: 'x', rejected: false }, 'v=0'], rejected_count: 0 },
      { pc: 'p', m_lines: [{ mid: '0', rejected: false }], rejected_count: 0 },
    ],
    [
      'session.effective_media',
      { actual: { codec: 'h264', token: 'x' }, audio: null, mic: 'off' },
      { actual: { codec: 'h264' }, audio: null, mic: 'off' },
    ],
    ['operator.annotation', { label: 'froze', tags: ['a', 7] }, { label: 'froze', tags: ['a'] }],
    ['app.exited', { status: null, policy: { nested: 1 } }, { status: null }],
    ['bench.window', { anything: 1 }, {}],
    ['of.a.newer.agent', { anything: 1 }, {}],
    ['toString', { anything: 1 }, {}],
  ])('%s %j', (type, payload, shown) => {
    expect(bundledPayload(type, payload)).toEqual(shown);
  });

  test('texts are masked and bounded', () => {
    expect(
      bundledPayload('transport.peer_disconnected', {
        error: 'lost; a=ice-pwd:abcdefgh',
        debug: 'x'.repeat(5_000),
      }),
    ).toEqual({ error: 'lost; [masked]', debug: 'x'.repeat(1_024) });
  });

  test.each([...new Set<string>([...AGENT_EVENT_TYPES, ...BROWSER_EVENT_TYPES])])(
    'no field of %s is an object that it may fill freely',
    (type) => {
      const everything = { canary: 'canary', nested: { canary: 'canary' } };
      const names = Object.keys(bundledPayload(type, Object.fromEntries(NAMES.map((name) => [name, 1]))));
      const filled = Object.fromEntries(names.map((name) => [name, everything]));
      expect(JSON.stringify(bundledPayload(type, filled))).not.toContain('canary');
    },
  );
});

/** Names of fields in known events. */
const NAMES = [
  ...['configured', 'resolved', 'actual', 'audio', 'mic', 'size', 'm_lines', 'pc', 'text', 'name', 'reason'],
  ...['label', 'tags', 'error', 'debug', 'kind', 'from', 'to', 'state', 'phase', 'trigger', 'codec'],
];
