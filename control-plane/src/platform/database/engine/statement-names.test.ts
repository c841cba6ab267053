import { expect, test } from 'vitest';
import { StatementNames } from './statement-names.ts';

test('a statement keeps its name until all are renewed, and no name is given twice', () => {
  const names = new StatementNames();
  const [first, second] = [names.of('select 1') ?? '', names.of('select 2') ?? ''];
  expect(names.of('select 1')).toBe(first);
  expect(second).not.toBe(first);
  names.renew('select 1', first);
  const third = names.of('select 1');
  expect([first, second]).not.toContain(third);
  // Another connection reports the same outdated plan.
  names.renew('select 1', first);
  expect(names.of('select 1')).toBe(third);
});

test.each(['begin', 'commit', 'create table t (id text)', 'drop index i'])('%s has no name', (text) => {
  expect(new StatementNames().of(text)).toBeUndefined();
});

test('at most a thousand statements have names', () => {
  const names = new StatementNames();
  for (let n = 0; n < 1_000; n += 1) names.of(`select ${n}`);
  expect(names.of('select 1000')).toBeUndefined();
  expect(names.of('select 999')).toBeDefined();
});
