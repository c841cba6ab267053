import { expect, test } from 'vitest';
import {
  AGENT_SERIES,
  CLIENT_METRIC_KEYS,
  CLIENT_SERIES,
  isBrowserEvent,
  isReliableEvent,
  NEEDS_CAPTURE_TIME,
} from './index.ts';

test('there are 20 series of agents and 29 of viewers', () => {
  expect(Object.keys(AGENT_SERIES)).toHaveLength(20);
  expect(Object.keys(CLIENT_SERIES)).toHaveLength(29);
});

test('every series of a viewer has a key that is stored', () => {
  const stored = new Set<string>(CLIENT_METRIC_KEYS);
  for (const key of Object.values(CLIENT_SERIES)) expect(stored).toContain(key);
  for (const name of NEEDS_CAPTURE_TIME) expect(CLIENT_SERIES[name]).toBeDefined();
});

test('captures and recordings are reliable events, changes of the bitrate are not', () => {
  expect(isReliableEvent('diag.anything')).toBe(true);
  expect(isReliableEvent('session.recording')).toBe(true);
  expect(isReliableEvent('abr.retarget')).toBe(false);
  expect(isBrowserEvent('client.first_frame')).toBe(true);
  expect(isBrowserEvent('encoder.stall')).toBe(false);
});
