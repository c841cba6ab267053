import { AGENT_EVENT_TYPES, BROWSER_EVENT_TYPES } from '@footlight/protocol/telemetry';
import { expect, test } from 'vitest';
import { detailLabel, eventLabel, type TraceEvent, toneOf } from './event-labels.ts';
import { exactTimeLabel, timeLabel } from './time-labels.ts';

const event = (type: string, payload: TraceEvent['payload'] = {}): TraceEvent => ({
  source: 'agent',
  ts_unix_ms: 0,
  type,
  payload,
});

test.each([...AGENT_EVENT_TYPES, ...BROWSER_EVENT_TYPES])('%s has words', (type) => {
  expect(eventLabel(event(type))).toMatch(/^[A-Z]/);
});

test.each(['host.newer', 'constructor'])('%s, which this page does not know, is shown unchanged', (type) => {
  expect([eventLabel(event(type)), toneOf(event(type)), detailLabel(event(type, { a_b: 1 }))]).toEqual([
    type,
    'neutral',
    'a b 1',
  ]);
});

test.each<[string, TraceEvent['payload'], string]>([
  ['operator.annotation', { label: 'Ada called', tags: ['slow', 'call'] }, 'Ada called · slow, call'],
  ['operator.annotation', { label: 'Ada called' }, 'Ada called'],
  [
    'abr.retarget',
    { from_kbps: 8000, to_kbps: 5000, reason: 'network_down' },
    '8000 → 5000 kbit/s, network down',
  ],
  ['playout.changed', { from_ms: 30.953, to_ms: 19.127 }, '31 → 19 ms'],
  [
    'client.first_frame',
    { since_load_ms: 1536.2, since_launch_ms: 832.4, width: 1280, height: 720, flat: false },
    '832 ms after the launch, 1280 × 720',
  ],
  [
    'client.first_frame',
    { since_load_ms: 1536.2, width: 1280, height: 720, flat: true },
    '1536 ms after the page was loaded, 1280 × 720, of one colour',
  ],
  ['client.freeze_detected', { gap_ms: 412.4 }, 'for 412 ms'],
  ['webrtc.state_changed', { kind: 'ice', from: 'checking', to: 'connected' }, 'ice: checking → connected'],
  [
    'encoder.stall',
    { phase: 'detected', reason: 'no_output', since_ms: 1200 },
    'no output, for 1200 ms already',
  ],
  ['encoder.stall', { phase: 'recovered', reason: 'no_output', stalled_ms: 90 }, 'no output, after 90 ms'],
  ['app.launch_state', { state: 'game_running', more: {} }, 'state game_running'],
  ['diag.log_tail', { data: 'x'.repeat(1_000) }, ''],
  ['diag.log_tail', { error: 'timed out' }, 'timed out'],
])('%s %j: "%s"', (type, payload, label) => {
  expect(detailLabel(event(type, payload))).toBe(label);
});

test.each([
  ['client.visibility_changed', { hidden: true }, 'Page hidden'],
  ['client.visibility_changed', { hidden: false }, 'Page shown'],
  ['encoder.stall', { phase: 'recovered' }, 'Encoder recovered'],
])('%s %j is "%s"', (type, payload, label) => {
  expect(eventLabel(event(type, payload))).toBe(label);
});

test('a long payload is shortened', () => {
  expect(detailLabel(event('host.xid', { text: 'x'.repeat(1_000) }))).toHaveLength(161);
});

test.each([
  ['encoder.stall', { phase: 'detected' }, 'danger'],
  ['encoder.stall', { phase: 'recovered' }, 'neutral'],
  ['abr.retarget', { from_kbps: 8, to_kbps: 5 }, 'warning'],
  ['abr.retarget', { from_kbps: 5, to_kbps: 8 }, 'neutral'],
])('%s %j is %s', (type, payload, tone) => {
  expect(toneOf(event(type, payload))).toBe(tone);
});

test.each([Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER])('%d ms of a host is no time', (ms) => {
  expect([timeLabel(ms), exactTimeLabel(ms)]).toEqual(['no time', 'no time']);
  expect(timeLabel(new Date(2026, 10, 20, 14, 3, 5).getTime())).toBe('14:03:05');
});

// Hosts and viewers send payloads as arbitrary objects; one that cannot be converted to text would crash the page.
test.each([
  'client.first_frame',
  'webrtc.state_changed',
  'abr.retarget',
  'encoder.stall',
  'operator.annotation',
  'another',
])('no payload of %s is an exception', (type) => {
  const odd: unknown[] = [{ toString: 1 }, { toString: null, valueOf: null }, [{ toString: 1 }], {}, null];
  const names = 'width height kind from to from_kbps to_kbps reason phase stalled_ms label tags'.split(' ');
  for (const value of odd) {
    const event: TraceEvent = {
      source: 'browser' as const,
      ts_unix_ms: 1,
      type,
      payload: Object.fromEntries(names.map((name) => [name, value])) as TraceEvent['payload'],
    };
    expect([eventLabel(event), toneOf(event), detailLabel(event)]).toEqual(Array(3).fill(expect.any(String)));
  }
});

test.each([
  [{ recording_id: 'a', state: 'ready', bytes: 31_457_280, duration_ms: 60_000 }, '60 s, 31.5 MB'],
  [{ recording_id: 'a', state: 'failed', error: 'the disk is full' }, 'the disk is full'],
])('a recording %j is "%s"', (payload, label) => {
  expect(detailLabel(event('session.recording', payload))).toBe(label);
});
