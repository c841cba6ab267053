import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { launchProfile, rung } from '../../../test/fixtures.ts';
import { changesOf } from '../frame/changes.ts';
import { moved } from './chain.ts';
import { idProblem } from './id-rule.ts';
import { bodyOf, chainOf, formOf, launchProfileRules, newLaunchProfile } from './launch-profile-model.ts';
import { bitrateWords, defaultOptions, rungWords, usesWords, warningWords } from './profile-words.ts';
import { FOLDED, NEW_RUNG, rungOf, rungRules } from './rung-model.ts';

describe('a chain', () => {
  test('swaps a rung with its neighbour', () => {
    expect(moved(['a', 'b', 'c'], 1, -1)).toEqual(['b', 'a', 'c']);
    expect(moved(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'c', 'b']);
  });

  test('stays as it is at its ends', () => {
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b']);
    expect(moved(['a', 'b'], 1, 1)).toEqual(['a', 'b']);
  });

  test('keeps every rung, and one step back undoes one step on', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), fc.nat(), (chain, at) => {
        const index = chain.length === 0 ? 0 : at % chain.length;
        const next = moved(chain, index, 1);
        expect([...next].sort()).toEqual([...chain].sort());
        if (index + 1 < chain.length) expect(moved(next, index + 1, -1)).toEqual(chain);
      }),
    );
  });
});

describe('the launch profile form', () => {
  test('sends nothing of what was not changed', () => {
    const stored = launchProfile('couch');
    const compared = { ...stored, rungs: chainOf(stored) };
    expect(changesOf(compared, bodyOf(formOf(stored)))).toEqual({});
    expect(changesOf(compared, bodyOf({ ...formOf(stored), sort_order: '7' }))).toEqual({ sort_order: 7 });
  });

  test('sends the whole chain once its order changed', () => {
    const stored = launchProfile('couch', { rungs: chain('x', 'y') });
    const form = { ...formOf(stored), rungs: ['y', 'x'] };
    expect(changesOf({ ...stored, rungs: chainOf(stored) }, bodyOf(form))).toEqual({ rungs: ['y', 'x'] });
  });

  test('puts a new one behind all others', () => {
    expect(newLaunchProfile([]).sort_order).toBe(10);
    expect(newLaunchProfile([launchProfile('a', { sort_order: 80 })]).sort_order).toBe(90);
    expect(newLaunchProfile([launchProfile('a', { sort_order: 2_147_483_647 })]).sort_order).toBe(
      2_147_483_647,
    );
  });

  test('names what is wrong', () => {
    expect(launchProfileRules.display_name(' ')).not.toBeNull();
    expect(launchProfileRules.rungs([])).not.toBeNull();
    expect(launchProfileRules.sort_order(-5)).toBeNull();
    expect(launchProfileRules.sort_order('')).toBe('A whole number');
  });

  test('takes any id that an address can carry', () => {
    expect(idProblem('4k/60 é')).toBeNull();
    expect(idProblem('é'.repeat(128))).toBeNull();
    for (const id of ['', '  ', '.', '..', 'a'.repeat(129)]) expect(idProblem(id), id).not.toBeNull();
  });
});

describe('the rung form', () => {
  test('sends nothing of what was not changed', () => {
    const stored = rung('1080p60-h264');
    expect(changesOf(stored, rungOf(stored))).toEqual({});
    expect(changesOf(stored, rungOf({ ...stored, fps: '90' }))).toEqual({ fps: 90 });
  });

  test('can be saved once a new one has its names', () => {
    const form: Record<string, unknown> = { ...NEW_RUNG, id: 'x', display_name: 'X' };
    for (const [name, rule] of Object.entries(rungRules)) {
      expect((rule as (value: unknown) => string | null)(form[name]), name).toBeNull();
    }
    expect(rungRules.id(NEW_RUNG.id)).not.toBeNull();
  });

  test('names what is wrong', () => {
    expect(rungRules.width(1921)).toBe('An even number');
    expect(rungRules.fps(0)).not.toBeNull();
    expect(rungRules.headroom_factor(0)).not.toBeNull();
    expect(rungRules.headroom_factor('')).not.toBeNull();
    expect(rungRules.headroom_factor(1.25)).toBeNull();
    expect(rungRules.abr_floor_kbps(-1)).toBe('A whole number from 0 up');
  });

  test('folds away no field that a new rung has to be given', () => {
    expect(FOLDED).not.toContain('id');
    expect(FOLDED).not.toContain('display_name');
  });
});

describe('words', () => {
  test('of a rung name what it encodes', () => {
    expect(rungWords(rung('a'))).toBe('H.264, 1920 × 1080, 60 FPS, 8.0 Mbit/s');
    expect(bitrateWords(800)).toBe('800 kbit/s');
  });

  test('of uses count, and are none where nobody has it', () => {
    expect(usesWords({ apps: [], global_default: false, user_preferences: 0 })).toBeNull();
    expect(usesWords({ apps: [{ id: '1', name: 'A' }], global_default: true, user_preferences: 2 })).toBe(
      'Default here, 1 app, 2 people',
    );
  });

  test('of warnings pass over what is unknown here', () => {
    expect(warningWords({ code: 'h264_floor_not_last', message: '' })).toBe('H.264 is not last');
    expect(warningWords({ code: 'constructor_of_the_future', message: '' })).toBe('Look at the chain');
  });

  test('of defaults offer what people may choose, and what is set though it was hidden since', () => {
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

function chain(...ids: string[]) {
  return ids.map((id, index) => ({ position: index + 1, stream_profile: rung(id) }));
}
