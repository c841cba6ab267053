import { expect, test } from 'vitest';
import { LOG_EVENTS } from '../../protocol/src/telemetry/log-events.ts';
import { modulesBelow, read } from './modules.ts';

/** Rows of docs/log-events.md, by event name. */
const rows = new Map(
  read('docs/log-events.md')
    .split('\n')
    .flatMap((line) => {
      const [, event, levels = '', fields = '', meaning = ''] = line.split('|').map((cell) => cell.trim());
      const name = /^`([\w.]+)`$/.exec(event ?? '')?.[1];
      return name === undefined ? [] : [[name, { levels, fields, meaning }] as const];
    }),
);

const CALL = /\.(fatal|error|warn|info|debug)\(/g;
const OPENING = '([{';
const CLOSING = ')]}';

/**
 * The text between an opening bracket and its closing bracket.
 * @param from index after the opening bracket
 * @returns null: there is no closing bracket
 */
function inside(text: string, from: number): string | null {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (OPENING.includes(sign)) depth += 1;
    if (CLOSING.includes(sign)) depth -= 1;
    if (depth === 0) return text.slice(from, at);
  }
  return null;
}

/** Names of the members in an object's source text, without members from a spread. */
function membersOf(object: string): string[] {
  let depth = 0;
  const parts = [''];
  for (const sign of object) {
    if (OPENING.includes(sign)) depth += 1;
    if (CLOSING.includes(sign)) depth -= 1;
    if (sign === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += sign;
  }
  return parts.flatMap((part) => /^\s*(\w+)\s*(?::|$)/.exec(part)?.[1] ?? []);
}

const modules = ['control-plane/src', 'node-agent/src']
  .flatMap((folder) => modulesBelow(folder))
  .filter(({ path: file }) => !file.includes('/testing/'));
/** Log calls in which the event's name is a literal. isWhole: the fields are literals too, without a spread. */
const calls = modules.flatMap(({ text }) => {
  // Strings are emptied, because commas and colons inside strings are not syntax.
  const code = text.replace(/`[^`]*`/g, '``');
  return [...code.matchAll(CALL)].flatMap(({ 0: call, 1: level = '', index }) => {
    const words = inside(code, index + call.length);
    const event = /,\s*'([\w.]+)',?\s*$/.exec(words ?? '')?.[1];
    if (words === null || event === undefined || !rows.has(event)) return [];
    const start = /^\s*\{/.exec(words)?.[0].length;
    const object = start === undefined ? '' : (inside(words, start) ?? '');
    return [
      {
        event,
        level,
        fields: membersOf(object),
        isWhole: !object.includes('...') && (start !== undefined || /^\s*'/.test(words)),
      },
    ];
  });
});

test('docs/log-events.md has exactly one row for every event, each with its meaning', () => {
  expect([...rows.keys()].sort()).toEqual([...LOG_EVENTS].sort());
  expect([...rows].filter(([, { meaning }]) => meaning.length < 10)).toEqual([]);
});

test('each row names the levels and fields that the code logs', () => {
  expect(calls.length).toBeGreaterThan(150);
  const wrong = calls.flatMap(({ event, level, fields }) => {
    const row = rows.get(event);
    const told = new Set(`${row?.levels}, ${row?.fields}`.split(/,? and |, /));
    return [level, ...fields].filter((word) => !told.has(word)).map((word) => `${event}: ${word}`);
  });
  expect(wrong).toEqual([]);
});

test('each row names only the levels and fields that the code logs, if all its calls are literals', () => {
  const mentions = new Map<string, number>();
  for (const { text } of modules)
    for (const [, name = ''] of text.matchAll(/'([\w.]+)'/g))
      mentions.set(name, (mentions.get(name) ?? 0) + 1);
  const wrong = [...rows].flatMap(([event, { levels, fields }]) => {
    const of = calls.filter((call) => call.event === event);
    if (of.length < (mentions.get(event) ?? 0) || !of.every(({ isWhole }) => isWhole)) return [];
    const logged = new Set(of.flatMap((call) => [call.level, ...call.fields]));
    const told = `${levels}, ${fields}`.split(/,? and |, /).filter((word) => word !== 'none');
    return told.filter((word) => !logged.has(word)).map((word) => `${event}: ${word}`);
  });
  expect(wrong).toEqual([]);
});
