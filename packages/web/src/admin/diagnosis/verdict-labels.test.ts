import type { Falsifier } from '@footlight/protocol/rest';
import { expect, test } from 'vitest';
import { boundLabel, clockLabel, conditionLabel, figureLabel, verdictLabel } from './verdict-labels.ts';

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
  expect(verdictLabel(verdict).title).toBe(title);
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
  expect([conditionLabel(hidden), boundLabel(hidden)]).toEqual(['Page hidden, at any time', 'no']);
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
