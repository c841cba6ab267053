import { expect, test } from 'vitest';
import type { NetworkHealth } from './network-health.ts';
import { type KnownHealth, shownHealth } from './shown-health.ts';
import { UNWATCHED, type ViewerState } from './viewer-health.ts';

const network = (state: NetworkHealth['state'], reason: string | null = null): NetworkHealth => ({
  state,
  reason,
  atFloor: null,
});
const viewing = (state: ViewerState | null, reason: string | null = null) => ({
  ...UNWATCHED,
  state,
  reason,
});

test.each<[string, KnownHealth, object]>([
  ['nothing known', {}, {}],
  ['a network without a verdict', { network: network(null) }, {}],
  ['a healthy network', { network: network('healthy') }, { health_state: 'healthy' }],
  [
    'a viewer on a network without a verdict',
    { network: network(null), viewing: viewing('client_decode_degrading', 'slow') },
    { health_state: 'client_decode_degrading', health_reason: 'slow' },
  ],
  [
    'a viewer on a healthy network',
    { network: network('healthy'), viewing: viewing('client_presentation_degrading', 'uneven') },
    { health_state: 'client_presentation_degrading', health_reason: 'uneven' },
  ],
  ...(['network_degrading', 'abr_at_floor', 'unsustainable'] as const).map(
    (state): [string, KnownHealth, object] => [
      `${state} over a viewer`,
      { network: network(state, 'low'), viewing: viewing('client_decode_degrading', 'slow') },
      { health_state: state, health_reason: 'low' },
    ],
  ),
  [
    'a viewer without a verdict',
    { network: network('healthy'), viewing: viewing(null) },
    { health_state: 'healthy' },
  ],
])('%s', (_what, known, shown) => {
  expect(shownHealth(known)).toEqual(shown);
});
