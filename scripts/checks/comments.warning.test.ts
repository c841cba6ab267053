import { describe, expect, test } from 'vitest';
import { claimsPure, type Module, moduleOf, modulesBelow } from './modules.ts';

/**
 * Names of exported functions that are rules. The module of a rule must contain the word "pure" in a docstring
 * (pure-rules.test.ts).
 */
const RULE = /^export (?:async )?(?:function|const) ((?:decide|judge|admit|plan)(?![a-z])\w*)/gm;

/** Modules that export such a name but have effects, each with the reason. */
const EXEMPT = new Map([
  ['test-harness/bench/rounds.ts', 'judges the rounds of a bench that it has run, and prints the verdict'],
]);

/** @returns lines such as "a.ts exports decideLaunch without saying that it is pure" */
function silent(modules: readonly Module[], exempt: ReadonlySet<string>): string[] {
  return modules
    .filter((module) => !claimsPure(module) && !exempt.has(module.path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(RULE)].map(([, name]) => `${path} exports ${name} without saying that it is pure`),
    );
}

/**
 * Line numbers of docstrings that document nothing, because a blank line follows. A docstring at the start of a file is
 * allowed, because it documents the file.
 */
function looseDocstrings(text: string): number[] {
  return [...text.matchAll(/^ *\/\*\*(?:(?!\*\/)[\s\S])*\*\/ *\n *\n/gm)]
    .map(({ index }) => text.slice(0, index))
    .filter((before) => before.replace(/^#!.*/, '').trim() !== '')
    .map((before) => before.split('\n').length);
}

const modules = ['protocol', 'control-plane', 'node-agent', 'packages', 'test-harness'].flatMap(modulesBelow);

test('a module that exports a decision says that it is pure', () => {
  expect(silent(modules, new Set(EXEMPT.keys()))).toEqual([]);
  const paths = new Set(modules.map(({ path }) => path));
  expect([...EXEMPT.keys()].filter((path) => !paths.has(path))).toEqual([]);
});

describe('a docstring is directly above what it documents', () => {
  test('one above a blank line is found, unless it is about the whole file', () => {
    const loose = "import a from 'a';\n\n/**\n * The duty of a class.\n */\n\ninterface Options {}\n";
    expect(looseDocstrings(loose)).toEqual([3]);
    expect(looseDocstrings('/** About the file. */\n\nconst a = 1;\n')).toEqual([]);
    expect(looseDocstrings('const a = 1;\n\n/** A class. */\nclass A {}\n')).toEqual([]);
  });

  test('none is loose', () => {
    expect(
      modules.flatMap(({ path, text }) => looseDocstrings(text).map((line) => `${path}:${line}`)),
    ).toEqual([]);
  });
});

describe('a decision that does not say that it is pure is found', () => {
  const at = (text: string) => silent([moduleOf('sessions/rule.ts', text)], new Set());

  test.each([
    'export function decideLaunch(): Step {',
    'export const judgeRung = (rung: Rung): Verdict => {',
    'export function admit(facts: Facts): Refusal | null {',
    'export async function planCapacity(report: Capacity): Promise<Plan> {',
  ])('%s', (line) => {
    const [, name] = /(?:function|const) (\w+)/.exec(line) ?? [];
    expect(at(line)).toEqual([`sessions/rule.ts exports ${name} without saying that it is pure`]);
    expect(at(`/** Decides. Pure: facts in, a decision out. */\n${line}`)).toEqual([]);
    expect(silent([moduleOf('sessions/rule.ts', line)], new Set(['sessions/rule.ts']))).toEqual([]);
  });

  test.each(['export function admitted(): Launch {', 'export function planted() {', 'function decide() {'])(
    '%s is none',
    (line) => {
      expect(at(line)).toEqual([]);
    },
  );
});
