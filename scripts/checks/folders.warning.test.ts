import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { below, read, root } from './modules.ts';

/** Folders that contain source files, without folders of test helpers and fixtures. */
function sourceFolders(): string[] {
  const roots = [
    'protocol/src',
    'control-plane/src',
    'node-agent/src',
    ...readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/src`),
    'test-harness',
    'scripts',
  ];
  const files = roots.flatMap((folder) => below(folder).filter((file) => /\.(ts|tsx|mjs)$/.test(file)));
  const folders = new Set(files.map((file) => path.dirname(file)));
  return [...folders].filter((folder) => !/(^|\/)(node_modules|dist|testing|test|build)(\/|$)/.test(folder));
}

/** Folders in the map in docs/design.md, as paths. A line's parent is the nearest less indented line above it. */
function mappedFolders(map: string): Set<string> {
  const folders = new Set<string>();
  const above: string[] = [];
  for (const [, indent = '', names = ''] of map.matchAll(/^( *)([\w/-]+(?:, [\w/-]+)*) /gm)) {
    const depth = indent.length / 2;
    for (const name of names.split(', ')) {
      above[depth] = name;
      folders.add(above.slice(0, depth + 1).join('/'));
    }
  }
  return folders;
}

test('a folder of the map belongs to the less indented line above it', () => {
  const map = 'protocol/src  schemas\n  agent, signal  messages\n    deep  more\nscripts  commands\n';
  expect([...mappedFolders(map)]).toEqual([
    'protocol/src',
    'protocol/src/agent',
    'protocol/src/signal',
    'protocol/src/signal/deep',
    'scripts',
  ]);
});

test('the map in docs/design.md names exactly the folders of source files', () => {
  const map = read('docs/design.md').split('## Folders')[1]?.split('```')[1] ?? '';
  const named = mappedFolders(map);
  expect(sourceFolders().filter((folder) => !named.has(folder))).toEqual([]);
  expect([...named].filter((folder) => !existsSync(path.join(root, folder)))).toEqual([]);
});
