import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { below, controlVariables, read, root } from './modules.ts';

const pages = ['README.md', 'CONTRIBUTING.md', ...below('docs').filter((file) => file.endsWith('.md'))];

const CONFIGURATION = 'docs/configuration.md';

/** Names in the first column of the tables under a heading, up to the next heading of the same level. */
function documentedBelow(heading: string): Set<string> {
  const sections = read(CONFIGURATION).split(/^## /m).slice(1);
  const found = sections.filter((section) => section.startsWith(`${heading}\n`));
  if (found.length !== 1) throw new Error(`${CONFIGURATION} has ${found.length} headings "${heading}"`);
  const cells = [...(found[0] ?? '').matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell ?? '');
  return new Set(cells.flatMap((cell) => cell.match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? []));
}

const names = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name]) => name ?? ''));

describe('the documentation lists exactly the variables that the programs read', () => {
  test('of the control plane', () => {
    const known = controlVariables();
    expect(known.size).toBeGreaterThan(50);
    expect([...documentedBelow('Variables of the control plane')].sort()).toEqual([...known].sort());
  });

  test('of the node agent', () => {
    const known = names(read('node-agent/src/config/environment.ts'), /'(SERVICE_[A-Z0-9_]+)'/g);
    const table = read('protocol/src/agent/host-settings.ts');
    const settings = [
      ...[...names(table, /\b(?:setting|choice)\('([a-z0-9_]+)'/g)].map(
        (key) => `SERVICE_${key.toUpperCase()}`,
      ),
      ...names(table, /env_var: '(SERVICE_[A-Z0-9_]+)'/g),
    ];
    expect(known.size).toBeGreaterThan(15);
    const given = documentedBelow('Variables of a host');
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
    // Paths in code spans of the documents that begin with a folder of this repository.
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
