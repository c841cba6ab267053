import { HEALTH_STATES } from '@footlight/protocol/telemetry';
import { expect, test } from 'vitest';
import { healthLabel } from './health-labels.ts';

test.each([
  [{}, undefined],
  [{ health_state: 'healthy' }, undefined],
  [{ health_state: 'failed', health_reason: 'no picture' }, undefined],
  [{ health_state: 'network_degrading' }, 'The network carries less than the picture needs.'],
  [
    { health_state: 'client_decode_degrading', health_reason: 'decoding takes 22.0 ms a frame' },
    'The viewing device decodes too slowly; a lower quality helps (decoding takes 22.0 ms a frame).',
  ],
] as const)('%o', (session, label) => {
  expect(healthLabel(session)).toBe(label);
});

test('every limit has a sentence', () => {
  for (const health_state of HEALTH_STATES.filter((state) => state !== 'healthy' && state !== 'failed'))
    expect(healthLabel({ health_state })).toMatch(/^The .+\.$/);
});
