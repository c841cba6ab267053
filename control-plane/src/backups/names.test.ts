import { expect, test } from 'vitest';
import { beforeStep, nameOfBackup, parseBackupName } from './names.ts';

const createdAtMs = Date.parse('2026-11-26T03:00:04.000Z');

test.each([
  ['footlight-20261126-030004.sqlite', { reason: null, database: 'sqlite' }],
  ['footlight-20261126-030004-manual.sqlite', { reason: 'manual', database: 'sqlite' }],
  [
    'footlight-20261126-030004-before-0002-session-order.pgdump',
    { reason: beforeStep('0002-session-order'), database: 'postgres' },
  ],
] as const)('%s is written and read', (name, said) => {
  expect(nameOfBackup({ createdAtMs: createdAtMs + 999, ...said })).toBe(name);
  expect(parseBackupName(name)).toEqual({ name, createdAtMs, ...said });
});

test.each([
  '',
  '.',
  '..',
  'control.db',
  '../control.db',
  'footlight-20261126-030004.sqlite.json',
  'footlight-20261126-030004.sqlite.partial',
  'footlight-20261126-030004.sqlite\n',
  'footlight-20261126-030004.sqlite\0',
  ' footlight-20261126-030004.sqlite',
  'FOOTLIGHT-20261126-030004.sqlite',
  'footlight-20261126-030004.SQLITE',
  'footlight-20261126-030004.db',
  'footlight-20261126-030004-.sqlite',
  'footlight-20261126-030004-a--b.sqlite',
  'footlight-20261126-030004-../../control.sqlite',
  'footlight-20261126-030004-a/b.sqlite',
  'footlight-20261126-030004-a\\b.sqlite',
  'footlight-20261126-030004-"; filename=x.sqlite',
  'footlight-20261126-030004-é.sqlite',
  'footlight-20261326-030004.sqlite',
  'footlight-20260230-030004.sqlite',
  'footlight-20261126-250004.sqlite',
  'footlight-20261126-240000.sqlite',
  'footlight-2026112-6030004.sqlite',
  'footlight-٢٠٢٦1126-030004.sqlite',
  `footlight-20261126-030004-${'a'.repeat(120)}.sqlite`,
])('%j is not the name of a backup', (name) => {
  expect(parseBackupName(name)).toBeNull();
});
