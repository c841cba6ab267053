import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ABSENT, needsEnsure, type Presence, planRegistration, presenceOf } from './presence-rules.ts';

const at = (
  state: Presence['state'],
  version: string | null = '1',
  more: Partial<Presence> = {},
): Presence => ({
  ...ABSENT,
  state,
  version,
  ...more,
});

describe('a report leaves stored', () => {
  test.each([
    ['absent', {}, ABSENT],
    ['pulling', { progress_pct: 40, bytes: 5, error: 'x' }, at('pulling', '1', { progress_pct: 40 })],
    ['building', {}, at('building')],
    ['ready', { bytes: 5, progress_pct: 100, error: 'x' }, at('ready', '1', { bytes: 5 })],
    ['failed', { error: 'No space.', bytes: 5, progress_pct: 3 }, at('failed', '1', { error: 'No space.' })],
  ] as const)('of %s what belongs to it', (state, extras, stored) => {
    expect(presenceOf({ state, version: '1', ...extras })).toEqual(stored);
  });
});

describe('a registration', () => {
  const installed = new Set(['a', 'b']);
  const plan = (stored: Record<string, Presence>, listed: Parameters<typeof planRegistration>[1]) =>
    Object.fromEntries(planRegistration(new Map(Object.entries(stored)), listed, installed));
  const listed = (image_id: string, version: string, state: 'ready' | 'pulling' | 'failed') => ({
    image_id,
    version,
    state,
  });

  test('makes absent what it does not list', () => {
    expect(plan({ a: at('ready', '1', { bytes: 5 }), b: at('failed') }, [])).toEqual({
      a: ABSENT,
      b: ABSENT,
    });
    expect(plan({ a: ABSENT }, [])).toEqual({});
  });

  test('keeps the size and the reason of what is as it was', () => {
    expect(plan({ a: at('ready', '1', { bytes: 5 }) }, [listed('a', '1', 'ready')])).toEqual({});
    expect(plan({ a: at('failed', '1', { error: 'x' }) }, [listed('a', '1', 'failed')])).toEqual({});
  });

  test('takes another version or state', () => {
    expect(plan({ a: at('ready', '1', { bytes: 5 }) }, [listed('a', '2', 'ready')])).toEqual({
      a: at('ready', '2'),
    });
    expect(plan({ a: at('pulling') }, [listed('a', '1', 'ready')])).toEqual({ a: at('ready') });
  });

  test('drops what is not installed', () => {
    expect(plan({}, [listed('stranger', '1', 'ready')])).toEqual({});
  });

  test('leaves nothing ready that the host does not list', () => {
    const state = fc.constantFrom('ready', 'pulling', 'building', 'failed', 'absent') satisfies fc.Arbitrary<
      Presence['state']
    >;
    const stored = fc.dictionary(
      fc.constantFrom('a', 'b'),
      state.map((one) => at(one)),
    );
    const entry = fc.record({
      image_id: fc.constantFrom('a', 'b', 'c'),
      version: fc.constantFrom('1', '2'),
      state: fc.constantFrom('ready' as const, 'pulling' as const, 'failed' as const),
    });
    fc.assert(
      fc.property(stored, fc.uniqueArray(entry, { selector: ({ image_id }) => image_id }), (before, list) => {
        const after = new Map([...Object.entries(before), ...Object.entries(plan(before, list))]);
        for (const [id, presence] of after) {
          const held = list.find(({ image_id }) => image_id === id);
          expect([presence.state, presence.version]).toEqual(
            held === undefined
              ? ['absent', before[id]?.state === 'absent' ? presence.version : null]
              : [held.state, held.version],
          );
        }
      }),
    );
  });
});

test.each([
  [undefined, true],
  [ABSENT, true],
  [at('failed'), true],
  [at('ready', '2'), true],
  [at('pulling', '2'), true],
  [at('ready'), false],
  [at('pulling'), false],
  [at('building'), false],
  [at('ready', null), false],
] as const)('a host with %j needs version 1: %s', (stored, expected) => {
  expect(needsEnsure(stored, '1')).toBe(expected);
});
