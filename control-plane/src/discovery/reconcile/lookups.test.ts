import { describe, expect, test } from 'vitest';
import { type LookupFacts, planLookups } from './lookups.ts';

const entry = (external_id: string, name = 'Quest', state_flags = 4) => ({ external_id, name, state_flags });
const facts = (more: Partial<LookupFacts>): LookupFacts => ({
  entries: [],
  rules: new Map(),
  tiles: new Map(),
  observed: new Map(),
  ...more,
});

describe('titles that the store is asked about', () => {
  test('are those whose answer can change something, new tiles first', () => {
    const planned = planLookups(
      facts({
        entries: ['1', '2', '3', '4', '5', '6', '7'].map((id) => entry(id)),
        tiles: new Map([
          ['2', { origin: 'discovered', description: ' ' }],
          ['3', { origin: 'discovered', description: 'A text' }],
          ['4', { origin: 'manual', description: '' }],
        ]),
        rules: new Map([['5', 'allow']]),
        observed: new Map([['1', { suppressedBy: 'appdetails' }]]),
      }),
    );
    expect(planned).toEqual(['6', '7', '2', '1']);
  });

  test('are no tools, no titles that still download, and no invalid ids', () => {
    const entries = [entry('228980'), entry('1', 'Proton 9'), entry('2', 'Quest', 1026), entry('x')];
    expect(planLookups(facts({ entries }))).toEqual([]);
  });
});
