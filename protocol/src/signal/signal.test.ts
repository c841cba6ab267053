import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type BrowserMessage,
  encodeBrowserFrame,
  encodeServiceFrame,
  parseBrowserFrame,
  parseServiceFrame,
  reconnectRule,
  relayBrowserFrame,
  type ServiceMessage,
} from './index.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

const fromBrowser: BrowserMessage[] = [
  {
    type: 'hello',
    protocol: 1,
    client_id: A,
    client: { kind: 'browser' },
    codecs: ['h264', 'av1'],
    h264_profiles: ['42e01f'],
    resume: { pc_id: B },
  },
  { type: 'answer', pc_id: B, sdp: 'v=0\r\n' },
  { type: 'candidate', pc_id: B, candidate: '', mid: null },
  { type: 'renegotiate', pc_id: B, reason: 'video_stuck' },
  { type: 'bye' },
];

const fromService: ServiceMessage[] = [
  {
    type: 'ready',
    protocol: 1,
    session: { id: A, state: 'starting', state_detail: 'starting app' },
    stream: { codec: 'h264', width: 1280, height: 720, fps: 60, audio: true, mic: false, recording: false },
    ice_servers: [{ urls: ['stun:192.0.2.1:3478'], username: 'u', credential: 'c' }],
    ice_ttl_secs: 600,
    conn: 1,
  },
  { type: 'session', state: 'running', state_detail: null, app_launch_state: 'game_running' },
  { type: 'offer', pc_id: B, sdp: 'v=0\r\n', reason: 'takeover' },
  { type: 'resumed', pc_id: B },
  { type: 'candidate', pc_id: B, candidate: 'candidate:1 1 UDP 1 192.0.2.1 9 typ host', mid: 'video' },
  { type: 'bye', reason: 'going_away' },
  { type: 'error', code: 'a_code_of_tomorrow', message: 'x', fatal: false },
];

describe.each([
  [
    'browser',
    fromBrowser.map((message) => [encodeBrowserFrame(message), message] as const),
    parseBrowserFrame,
  ],
  [
    'service',
    fromService.map((message) => [encodeServiceFrame(message), message] as const),
    parseServiceFrame,
  ],
] as const)('messages of the %s', (_name, messages, parse) => {
  test.each(messages)('%s survives a round trip unchanged', (frame, message) => {
    expect(parse(frame)).toEqual({ kind: 'message', message });
  });

  test('survives truncation, any bytes, any JSON', () => {
    for (const [frame] of messages) {
      for (let end = 0; end < frame.length; end += 1)
        expect(parse(frame.slice(0, end)).kind).toBe('malformed');
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (frame) => {
        expect(['message', 'unknown', 'malformed']).toContain(parse(frame).kind);
      }),
    );
  });
});

describe('the message of a page for its host is relayed', () => {
  test('unchanged', () => {
    const frame = `{ "pc_id":"${B}", "type":"answer","sdp":"v=0\\r\\n" }`;
    expect(relayBrowserFrame(frame)).toEqual({
      kind: 'message',
      message: { type: 'answer', pc_id: B, sdp: 'v=0\r\n' },
      text: frame,
    });
  });

  test('without unknown keys, and without control characters', () => {
    const frame = (message: object) => {
      const read = relayBrowserFrame(JSON.stringify(message));
      return read.kind === 'message' && read.text;
    };
    expect(frame({ type: 'bye', reason: 'a\u0007b' })).toBe('{"type":"bye","reason":"ab"}');
    expect(frame({ type: 'bye', token: 'x' })).toBe('{"type":"bye"}');
  });
});

describe('bounds of signaling', () => {
  test.each([
    ['an SDP over 64 KiB', { type: 'answer', pc_id: B, sdp: 'x'.repeat(65_537) }],
    ['a candidate over 2 KiB', { type: 'candidate', pc_id: B, candidate: 'x'.repeat(2049), mid: null }],
    ['a mid over 16 bytes', { type: 'candidate', pc_id: B, candidate: '', mid: 'x'.repeat(17) }],
    ['no mid at all', { type: 'candidate', pc_id: B, candidate: '' }],
    ['an unknown codec', { ...fromBrowser[0], codecs: ['vp8'] }],
    ['an upper-case uuid', { type: 'answer', pc_id: B.toUpperCase(), sdp: '' }],
    ['a reason outside the list', { type: 'renegotiate', pc_id: B, reason: 'bored' }],
  ])('%s is malformed', (_name, message) => {
    expect(parseBrowserFrame(JSON.stringify(message)).kind).toBe('malformed');
  });
});

describe('after a close', () => {
  test.each([
    [1006, 'backoff'],
    [1012, 'backoff'],
    [1009, 'no'],
    [4400, 'no'],
    [4401, 'new_token'],
    [4403, 'no'],
    [4404, 'no'],
    [4406, 'reload'],
    [4408, 'backoff'],
    [4409, { afterMs: 1000 }],
    [4410, 'no'],
    [4412, 'no'],
    [4415, 'no'],
    [4429, { afterMs: 5000 }],
    [4500, 'backoff'],
  ])('%d: %j', (code, rule) => {
    expect(reconnectRule(code)).toEqual(rule);
  });
});
