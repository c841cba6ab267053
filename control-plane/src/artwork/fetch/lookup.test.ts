import { expect, test } from 'vitest';
import { decideLookup } from './lookup.ts';

const APP = { name: 'Sample Quest', kind: 'game', external_source: '', external_id: '' } as const;

test.each([
  ['a game by its name', APP, { by: 'name', name: 'Sample Quest' }],
  [
    'a game of Steam by its number only',
    { ...APP, external_source: 'steam', external_id: '4711' },
    { by: 'steam', steamId: '4711' },
  ],
  ['a game of Steam without a number not at all', { ...APP, external_source: 'steam' }, { by: 'nothing' }],
  [
    'a launcher of Steam by its number',
    { ...APP, kind: 'launcher', external_source: 'steam', external_id: '4711' },
    { by: 'steam', steamId: '4711' },
  ],
  ['a desktop not at all', { ...APP, kind: 'desktop' }, { by: 'nothing' }],
  ['a launcher not at all', { ...APP, kind: 'launcher' }, { by: 'nothing' }],
] as const)('looks up %s', (_, app, lookup) => {
  expect(decideLookup(app)).toEqual(lookup);
});
