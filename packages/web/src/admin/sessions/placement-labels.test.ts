import { expect, test } from 'vitest';
import { clampLabel, refusalLines } from './placement-labels.ts';

const refusal = { host_id: 'h', node_name: 'node-1', gpu_id: 'g' };

test('a refusal in a sentence, with its numbers', () => {
  expect(refusalLines([{ ...refusal, rule: 'slots', have: 0, need: 2 }])).toEqual([
    'node-1: 0 encode slots free, 2 needed',
  ]);
});

test('GPUs of a host with the same reason share a sentence', () => {
  const draining = { rule: 'online', have: 'draining', need: 'online' } as const;
  const full = { rule: 'slots', have: 0, need: 1 } as const;
  const refusals = [0, 1].flatMap((gpu) => [
    { ...refusal, gpu_id: `a${gpu}`, ...draining },
    { ...refusal, node_name: 'node-2', gpu_id: `b${gpu}`, ...full },
  ]);
  expect(refusalLines(refusals)).toEqual([
    'node-1: the host is draining',
    'node-2: 0 encode slots free, 1 needed, on each of 2 GPUs',
  ]);
});

test('an unknown clamp is shown unchanged', () => {
  expect(clampLabel('client_decode')).toContain('decode');
  expect(clampLabel('something_new')).toBe('something_new');
});
