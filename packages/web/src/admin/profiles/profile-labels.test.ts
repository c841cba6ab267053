import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { launchProfile, rung } from '../../../test/fixtures.ts';
import {
  bitrateLabel,
  CHAIN_SENTENCES,
  defaultOptions,
  rungLabel,
  usesLabel,
  warningLabel,
} from './profile-labels.ts';

describe('words', () => {
  test('of a rung name its size, codec and bitrate', () => {
    expect(rungLabel(rung('a'))).toBe('H.264, 1920 × 1080, 60 FPS, 8.0 Mbit/s');
    expect(bitrateLabel(800)).toBe('800 kbit/s');
  });

  test('of uses are counts, and null without uses', () => {
    expect(usesLabel({ apps: [], global_default: false, user_preferences: 0 })).toBeNull();
    expect(usesLabel({ apps: [{ id: '1', name: 'A' }], global_default: true, user_preferences: 2 })).toBe(
      'Default here, 1 app, 2 people',
    );
  });

  test('of warnings skip unknown ones', () => {
    expect(warningLabel({ code: 'h264_floor_not_last', message: '' })).toBe('H.264 is not last');
    expect(warningLabel({ code: 'constructor_of_the_future', message: '' })).toBe('Look at the chain');
  });

  test('of sentences about a chain exist in the server’s source', () => {
    const file = path.resolve(
      import.meta.dirname,
      '../../../../../control-plane/src/profiles/rungs/chain.ts',
    );
    const source = readFileSync(file, 'utf8').replace(/\$\{[^{}]*\}/g, '{}');
    for (const sentence of CHAIN_SENTENCES) expect(source).toContain(sentence.replace(/\{\w+\}/g, '{}'));
  });

  test('of defaults offer what people may choose, and the stored one even if it is hidden', () => {
    const profiles = [
      launchProfile('a', { display_name: 'A' }),
      launchProfile('b', { display_name: 'B', visibility: 'debug' }),
      launchProfile('c', { display_name: 'C', visibility: 'internal' }),
    ];
    expect(defaultOptions(profiles, 'b', 'None')).toEqual([
      { value: '', label: 'None' },
      { value: 'a', label: 'A' },
      { value: 'b', label: 'B (hidden from people)' },
    ]);
  });
});
