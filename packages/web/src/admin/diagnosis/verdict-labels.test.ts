import type { Falsifier, SessionVerdict } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import {
  boundLabel,
  clockLabel,
  conditionLabel,
  conditionResult,
  decides,
  figureLabel,
  measuredLabel,
  verdictLabel,
} from './verdict-labels.ts';

const falsifier = (part: Partial<Falsifier>): Falsifier => ({
  name: 'transport.rtt_ms',
  estimator: 'p95',
  value: 84.234,
  op: '>',
  threshold: 50,
  unit: 'ms',
  n: 296,
  holds: true,
  ...part,
});

test.each([
  ['likely_network_congestion', 'Probably the network'],
  ['nominal', 'Nothing limited it'],
  ['likely_moon_phase', 'likely moon phase'],
  ['constructor', 'constructor'],
])('the verdict %s is "%s"', (verdict, title) => {
  expect(verdictLabel({ verdict: verdict as SessionVerdict['verdict'], falsifiers: [] }).title).toBe(title);
});

test('a verdict that nothing limited says so only if every measured condition holds', () => {
  const titleWith = (part: Partial<Falsifier>) =>
    verdictLabel({ verdict: 'nominal', falsifiers: [falsifier({}), falsifier(part)] }).title;
  expect(titleWith({ holds: true })).toBe('Nothing limited it');
  expect(titleWith({ holds: false })).toBe('No single limit found');
  expect(titleWith({ holds: false, value: null })).toBe('Nothing limited it');
});

test.each<[string, Partial<Falsifier>]>([
  ['Holds', {}],
  ['Does not hold', { holds: false }],
  ['Not measured', { holds: false, value: null, note: 'no samples' }],
  ['Not assessed', { holds: false, value: 14.68, note: 'not assessable while hidden' }],
])('a condition: %s', (label, part) => {
  expect(conditionResult(falsifier(part)).label).toBe(label);
});

test('the conditions that the rule tests decide, the others are compared', () => {
  const isDecided = (verdict: string, name: string) => decides(verdict, falsifier({ name }));
  expect(isDecided('likely_network_congestion', 'transport.rtt_ms')).toBe(true);
  expect(isDecided('likely_network_congestion', 'encoder.encode_ms_p95')).toBe(false);
  expect(isDecided('nominal', 'transport.rtt_ms')).toBe(false);
  expect(isDecided('constructor', 'transport.rtt_ms')).toBe(false);
});

test('a condition names the measured value, its estimator and its bound', () => {
  const rtt = falsifier({});
  expect([conditionLabel(rtt), figureLabel(rtt.value, rtt.unit), boundLabel(rtt)]).toEqual([
    'Round trip, 95th percentile',
    '84.23 ms',
    'more than 50 ms',
  ]);
  const hidden = falsifier({
    name: 'client.is_hidden',
    estimator: 'any',
    op: '==',
    threshold: 0,
    unit: 'bool',
  });
  expect([conditionLabel(hidden), boundLabel(hidden)]).toEqual(['Page shown the whole time', 'yes']);
  expect([measuredLabel({ ...hidden, value: 0 }), measuredLabel({ ...hidden, value: 1 })]).toEqual([
    'yes',
    'no',
  ]);
  const wasHidden = { ...hidden, threshold: 1, value: 1 };
  expect([conditionLabel(wasHidden), measuredLabel(wasHidden), boundLabel(wasHidden)]).toEqual([
    'Page hidden, at any time',
    'yes',
    'yes',
  ]);
  expect(figureLabel(null, 'ms')).toBe('not measured');
});

test.each([
  [{ quality: 'unmeasured', applied: false }, 'not compared'],
  [
    { quality: 'measured', applied: true, offset_ms: -35.2, uncertainty_ms: 4, age_ms: 21_400 },
    'the viewer 35 ms ahead, ±4 ms, compared 21 s before',
  ],
  [
    { quality: 'measured', applied: true, offset_ms: 3_540_000, uncertainty_ms: 0.25 },
    'the viewer 3540 s behind',
  ],
  [{ quality: 'measured', applied: true, offset_ms: 0.3, uncertainty_ms: 1 }, 'in step, ±1 ms'],
] as const)('the clock %j: %s', (clock, label) => {
  expect(clockLabel(clock)).toContain(label);
});
