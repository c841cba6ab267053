import { expect, test } from 'vitest';
import { clampWords, refusalWords } from './placement-words.ts';

const refusal = { host_id: 'h', node_name: 'node-1', gpu_id: 'g' };

test('a refusal in a sentence, with its numbers', () => {
  expect(refusalWords({ ...refusal, rule: 'slots', have: 0, need: 2 })).toBe(
    'node-1: 0 encode slots free, 2 needed',
  );
  expect(refusalWords({ ...refusal, rule: 'online', have: 'draining', need: 'online' })).toBe(
    'node-1: the host is draining',
  );
});

test('an unknown clamp stays as it came', () => {
  expect(clampWords('client_decode')).toContain('decodes');
  expect(clampWords('something_new')).toBe('something_new');
});
