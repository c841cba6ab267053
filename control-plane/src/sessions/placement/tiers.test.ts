import { describe, expect, test } from 'vitest';
import { chooseTier, type LineFacts } from './tiers.ts';

const probe = (more: Partial<LineFacts> = {}): LineFacts => ({
  bandwidth_kbps: null,
  rtt_ms: null,
  max_decode_height: null,
  ...more,
});

describe('the tier of a launch without a profile', () => {
  test.each([
    ['never measured', null, '1080p60'],
    ['nothing in it', probe(), '1080p60'],
    ['fast and near', probe({ bandwidth_kbps: 25_000, rtt_ms: 10 }), '1080p60-lan'],
    ['fast and far', probe({ bandwidth_kbps: 90_000, rtt_ms: 11 }), '1080p60'],
    ['fast, distance unknown', probe({ bandwidth_kbps: 90_000 }), '1080p60'],
    ['just enough', probe({ bandwidth_kbps: 12_000 }), '1080p60'],
    ['a little less', probe({ bandwidth_kbps: 11_999 }), '720p60'],
    ['decodes 720 lines', probe({ bandwidth_kbps: 90_000, rtt_ms: 50, max_decode_height: 720 }), '720p60'],
    ['slow', probe({ bandwidth_kbps: 7_999 }), '720p30'],
    ['very slow', probe({ bandwidth_kbps: 500 }), '720p30'],
  ] as const)('%s', (_what, facts, tier) => {
    expect(chooseTier(facts).id).toBe(tier);
  });
});
