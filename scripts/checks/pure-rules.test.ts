import { describe, expect, test } from 'vitest';
import { claimsPure, type Module, moduleOf, modulesBelow } from './modules.ts';

/**
 * A module with a docstring that says "pure" only computes and has no effects: it must not import the database, routes,
 * a clock or other I/O, either directly or through other modules. The chain of imports stops at the index.ts of another
 * feature, and at types, which the compiler erases.
 */
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/g;

/** Packages and modules of Node that have no effects. */
const HARMLESS =
  /^(node:(buffer|crypto|net|path|string_decoder|url|util|zlib)|zod|ipaddr\.js|fast-xml-parser|vdf-parser|@footlight\/(platform|protocol(\/[\w-]+)?))$/;
/** Functions of these modules that read the clock, random values or files. */
const EFFECTS =
  /^(systemClock|systemRandom|delay|within|createLogger|random[A-Z]\w*|createServer|connect|Socket)$/;
const GLOBALS =
  /\b(?:Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|setTimeout\(|setInterval\(|fetch\(|process\.)/g;

/** Effects of one module, without those of the modules that it imports. */
function effectsOf(module: Module, isLocal: (path: string) => boolean): string[] {
  const imported = module.imports
    .filter(({ from, isType }) => !isType && !isLocal(from))
    .flatMap(({ from, names }) =>
      HARMLESS.test(from) ? names.filter((name) => EFFECTS.test(name)) : [from],
    );
  return [...imported, ...(module.text.replace(COMMENT, '').match(GLOBALS) ?? [])];
}

/** @returns lines such as "a.ts says pure, but b.ts has node:fs" */
function broken(modules: readonly Module[]): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  return modules.filter(claimsPure).flatMap((rule) => {
    const reached = new Set([rule]);
    for (const { imports } of reached) {
      for (const { from, isType } of imports) {
        const next = isType || from.endsWith('/index.ts') ? undefined : byPath.get(from);
        if (next !== undefined) reached.add(next);
      }
    }
    return [...reached].flatMap((module) =>
      effectsOf(module, (path) => byPath.has(path)).map(
        (effect) => `${rule.path} says pure, but ${module === rule ? 'it' : module.path} has ${effect}`,
      ),
    );
  });
}

const modules = ['protocol', 'control-plane', 'node-agent', 'packages', 'test-harness'].flatMap(modulesBelow);

test('a module that says pure has no effects', () => {
  expect(broken(modules)).toEqual([]);
});

describe('an effect in a module that says pure is found', () => {
  const rule = (text: string) => moduleOf('sessions/rule.ts', `/** Decides. Pure. */\n${text}`);
  const store = moduleOf('sessions/store.ts', `import { sql } from 'kysely';`);

  test.each([
    ['a database', `import { sql } from 'kysely';`, 'it has kysely'],
    ['files', `import { readFileSync } from 'node:fs';`, 'it has node:fs'],
    ['the clock', `import { systemClock } from '@footlight/platform';`, 'it has systemClock'],
    ['a global clock', 'const nowMs = Date.now();', 'it has Date.now('],
    ['randomness', `import { randomUUID } from 'node:crypto';`, 'it has randomUUID'],
    ['a store', `import { load } from './store.ts';`, 'sessions/store.ts has kysely'],
  ])('%s', (_, text, effect) => {
    expect(broken([rule(text), store])).toEqual([`sessions/rule.ts says pure, but ${effect}`]);
  });

  test.each([
    ['in the head', `/** Everything here is pure. */\nimport { sql } from 'kysely';`, 1],
    ['in a plural', `/** Checks, as pure functions. */\nimport { sql } from 'kysely';`, 1],
    ['in a remark', `// The caller has pure rules.\nimport { sql } from 'kysely';`, 0],
    ['in another word', `/** A purely technical name. */\nimport { sql } from 'kysely';`, 0],
  ])('a claim %s counts', (_, text, found) => {
    expect(broken([moduleOf('sessions/rule.ts', text)])).toHaveLength(found);
  });

  test.each([
    ['types of a store', `import type { Row } from './store.ts';`],
    ['time constants', `import { type Clock, SECOND_MS } from '@footlight/platform';`],
    ['comments about effects', '// Date.now() is read by the caller.'],
  ])('%s are allowed', (_, text) => {
    expect(broken([rule(text), store])).toEqual([]);
  });
});
