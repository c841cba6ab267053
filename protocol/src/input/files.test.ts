import { expect, test } from 'vitest';
import { parseViewerFiles } from './files.ts';

test.each([
  { type: 'rename', id: 1, path: 'Saves/a', name: 'b' },
  { type: 'mkdir', id: 1, path: 'Saves/new' },
])('a host reads %j', (message) => {
  expect(parseViewerFiles(JSON.stringify({ ...message, later: true }))).toEqual({ kind: 'message', message });
});

test('a name has at most 255 bytes, as on Linux', () => {
  const named = (name: string) =>
    parseViewerFiles(JSON.stringify({ type: 'rename', id: 1, path: 'a', name })).kind;
  expect(named('ü'.repeat(127))).toBe('message');
  expect(named('ü'.repeat(128))).not.toBe('message');
});
