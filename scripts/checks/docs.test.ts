import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

const pages = ['README.md', 'CONTRIBUTING.md', ...below('docs').filter((file) => file.endsWith('.md'))];

function below(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? below(file) : [file];
  });
}

/** Names in the first column of a page's tables. */
function documented(page: string): Set<string> {
  const cells = [...read(page).matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell ?? '');
  return new Set(cells.flatMap((cell) => cell.match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? []));
}

const names = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name]) => name ?? ''));

describe('the documentation lists exactly the variables that the programs read', () => {
  test('of the control plane', () => {
    const known = names(read('control-plane/src/platform/config/variables.ts'), /^ {2}([A-Z0-9_]+): /gm);
    expect([...documented('docs/running.md')].sort()).toEqual([...known].sort());
  });

  test('of the node agent', () => {
    const known = names(read('node-agent/src/config/environment.ts'), /'(SERVICE_[A-Z0-9_]+)'/g);
    const knobs = read('protocol/src/agent/knobs.ts');
    const settings = [
      ...[...names(knobs, /\b(?:knob|choice)\('([a-z0-9_]+)'/g)].map((key) => `SERVICE_${key.toUpperCase()}`),
      ...names(knobs, /env_var: '(SERVICE_[A-Z0-9_]+)'/g),
    ];
    const given = documented('docs/hosts.md');
    for (const name of known) expect(given).toContain(name);
    for (const name of given) expect([...known, ...settings]).toContain(name);
  });
});

describe('links and paths in the documentation exist', () => {
  test.each(pages)('%s', (page) => {
    const text = read(page);
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link]) =>
      path.join(path.dirname(page), link ?? ''),
    );
    // Paths in code spans that begin with a folder of this repository.
    const spans = [
      ...text.matchAll(
        /`(?:\.\/)?((?:scripts|docs|protocol|control-plane|node-agent|packages|test-harness)\/[\w./-]+)/g,
      ),
    ]
      .map(([, span]) => span ?? '')
      .filter((span) => !span.endsWith('/'));
    const missing = [...links, ...spans].filter((file) => {
      const entries = readdirSync(path.join(root, path.dirname(file)));
      return !entries.includes(path.basename(file));
    });
    expect(missing).toEqual([]);
  });
});

/** Folders of source files, without those of a test's helpers and fixtures. */
function sourceFolders(): string[] {
  const roots = [
    'protocol/src',
    'control-plane/src',
    'node-agent/src',
    'packages',
    'test-harness',
    'scripts',
  ];
  const files = roots.flatMap((folder) => below(folder).filter((file) => /\.(ts|tsx|mjs)$/.test(file)));
  const folders = new Set(files.map((file) => path.dirname(file)));
  return [...folders].filter((folder) => !/(^|\/)(node_modules|dist|testing|test|build)(\/|$)/.test(folder));
}

test('the map in docs/design.md names every folder of source files', () => {
  const map = read('docs/design.md').split('## Folders')[1]?.split('```')[1] ?? '';
  const named = new Set(map.match(/[\w-]+/g));
  expect(sourceFolders().filter((folder) => !named.has(path.basename(folder)))).toEqual([]);
});

test('no folder holds more than twenty source files', () => {
  const crowded = sourceFolders().filter((folder) => {
    const files = readdirSync(path.join(root, folder)).filter((file) => /\.(ts|tsx|mjs)$/.test(file));
    return files.length > 20;
  });
  expect(crowded).toEqual([]);
});
