import { describe, expect, test } from 'vitest';
import { decideSuppression, type TitleFacts } from './ladder.ts';

const title = (facts: Partial<TitleFacts>): TitleFacts => ({
  externalId: '440',
  name: 'Sample Quest',
  rule: null,
  storeType: null,
  ...facts,
});

describe('whether a title is published', () => {
  test.each([
    ['an ordinary title', {}, null],
    ['a title without a name', { name: '' }, null],
    ['a title that the store calls a game', { storeType: 'game' }, null],
    ['a runtime by its id', { externalId: '1628350' }, 'builtin_appid'],
    ['the redistributables by their id', { externalId: '228980' }, 'builtin_appid'],
    ['Proton by its name', { name: '  PROTON 9.0' }, 'builtin_prefix'],
    ['the runtime by its name', { name: 'Steam Linux Runtime 3.0 (sniper)' }, 'builtin_prefix'],
    ['a name that only contains it', { name: 'The Proton Mystery' }, null],
    ['what the store calls a tool', { storeType: 'tool' }, 'appdetails'],
    ['an ignored title', { rule: 'ignore' }, 'rule_ignore'],
    ['an ignored title before the list of ids', { rule: 'ignore', externalId: '228980' }, 'rule_ignore'],
    ['an allowed id of the list', { rule: 'allow', externalId: '228980' }, null],
    ['an allowed name of the list', { rule: 'allow', name: 'Proton 9.0' }, null],
    ['an allowed title that is no game', { rule: 'allow', storeType: 'tool' }, null],
    ['the list of ids before the names', { externalId: '1493710', name: 'Proton' }, 'builtin_appid'],
    ['the names before the store', { name: 'Proton', storeType: 'tool' }, 'builtin_prefix'],
  ] as const)('%s', (_what, facts, expected) => {
    expect(decideSuppression(title(facts))).toBe(expected);
  });
});
