import type { NetworkPath } from '@footlight/protocol/telemetry';
import type { StreamStats } from '@footlight/stream-client';
import { describe, expect, test } from 'vitest';
import { costlyPathLabel, factsOf } from './measures.ts';

const stats = (path: NetworkPath | null): StreamStats => ({
  ts_unix_ms: 0,
  metrics: {},
  client_health: 'smooth',
  client_health_reason: '',
  codec_mime_type: null,
  width: 0,
  height: 0,
  loss: null,
  path,
  quality: { word: 'excellent', cause: null },
  clock: null,
  delay: null,
});

describe('the path of a stream', () => {
  test.each([
    [null, null, '–'],
    ['udp', null, 'Direct, UDP'],
    ['tcp', 'Direct, TCP', 'Direct, TCP; a lost packet stops the picture until it is sent again'],
    ['turn_udp', 'TURN over UDP', 'TURN over UDP; the relay adds its round trip'],
    [
      'turn_tcp',
      'TURN over TCP',
      'TURN over TCP; the relay adds its round trip, and a lost packet stops the picture',
    ],
    [
      'turn_tls',
      'TURN over TLS',
      'TURN over TLS; the relay adds its round trip, and a lost packet stops the picture',
    ],
  ] as const)('%s', (path, short, fact) => {
    expect(costlyPathLabel(path)).toBe(short);
    expect(factsOf(stats(path))).toContainEqual(['Path', fact]);
  });
});
