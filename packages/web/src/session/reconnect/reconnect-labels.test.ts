import { describe, expect, test } from 'vitest';
import { reconnectLabel } from './reconnect-labels.ts';

describe('the message about a lost picture', () => {
  test.each([
    [
      'network',
      { awayMs: 7_400, nextMs: null, endsMs: null },
      'No network for 7 seconds. Reconnecting automatically. The app keeps running.',
    ],
    [
      'media',
      { awayMs: 0, nextMs: null, endsMs: null },
      'No picture for 1 second. Reconnecting automatically. The app keeps running.',
    ],
    [
      'signaling',
      { awayMs: 12_000, nextMs: 3_100, endsMs: 593_000 },
      'No picture for 12 seconds. Next attempt in 3 seconds. The app stays open for 9:53.',
    ],
    [
      'signaling',
      { awayMs: 12_000, nextMs: -40, endsMs: -1 },
      'No picture for 12 seconds. Reconnecting automatically. The app stays open for 0 s.',
    ],
  ] as const)('%s, %j', (why, times, label) => {
    expect(reconnectLabel({ why }, times).join(' ')).toBe(label);
  });
});
