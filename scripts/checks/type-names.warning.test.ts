import { expect, test } from 'vitest';
import { type Module, moduleOf, modulesBelow } from './modules.ts';

/** Programs and packages. Each entry point of `protocol` counts as a separate package. */
const PROGRAMS = [
  'control-plane/src',
  'node-agent/src',
  'packages/gst',
  'packages/platform',
  'packages/stream-client',
  'packages/web',
  'protocol/src/agent',
  'protocol/src/input',
  'protocol/src/rest',
  'protocol/src/signal',
  'scripts',
  'test-harness/bench',
  'test-harness/src',
];

const EXPORTED_TYPE = /^export (?:declare )?(?:type|interface|(?:abstract )?class|enum) (\w+)/gm;

/** Exported types with the same name as another exported type of the same program. Pure. */
function sharedNames(modules: readonly Module[]): string[] {
  const owners = new Map<string, string[]>();
  for (const { path, text } of modules)
    for (const [, name = ''] of text.matchAll(EXPORTED_TYPE))
      owners.set(name, [...(owners.get(name) ?? []), path]);
  return [...owners]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`)
    .sort();
}

test('a type whose name is taken in its program is found', () => {
  const modules = [
    moduleOf('a.ts', 'export interface Stage {}\nexport type Other = 1;'),
    moduleOf('b.ts', 'interface Other {}\nexport class Stage {}'),
  ];
  expect(sharedNames(modules)).toEqual(['Stage: a.ts, b.ts']);
});

test.each(PROGRAMS)('%s: each exported type has a unique name', (folder) => {
  expect(sharedNames(modulesBelow(folder))).toEqual([]);
});
