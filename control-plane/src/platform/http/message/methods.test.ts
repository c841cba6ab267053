import { expect, test } from 'vitest';
import { MethodTable } from './methods.ts';

test('the methods of a path are found, with any values of its parameters', () => {
  const table = new MethodTable();
  table.add('GET', '/v1/apps/{id}');
  table.add('DELETE', '/v1/apps/{id}');
  table.add('POST', '/v1/apps');
  expect(table.allowed('/v1/apps/anything')).toEqual(['DELETE', 'GET', 'HEAD']);
  expect(table.allowed('/v1/apps')).toEqual(['POST']);
  expect(table.allowed('/v1/apps/')).toEqual([]);
  expect(table.allowed('/v1/apps/a/b')).toEqual([]);
  expect(table.allowed('/v1/other')).toEqual([]);
});
