import { expect, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { ERRORS, type Operation, operations } from '../../protocol/src/rest/index.ts';
import { modulesBelow } from './modules.ts';

const ROOT = 'control-plane/src';

/** Modules of the platform with functions that throw errors for features. */
const THROWING = [`${ROOT}/platform/errors.ts`, `${ROOT}/platform/limits.ts`];

/** A named function, class or constant, with the names and the error codes that its code contains. */
interface Definition {
  feature: string;
  names: Set<string>;
  codes: Set<string>;
}
/** A node of the syntax tree. */
type Node = { type: string; [key: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const definitions = new Map<string, Definition[]>();
/** The code that answers each operation, by operation id. */
const handlers = new Map<string, Definition>();
/** For each feature: the features whose names it can use. */
const reach = new Map<string, Set<string>>();

const featureOf = (path: string): string => path.slice(ROOT.length + 1).split('/')[0] ?? '';

for (const { path, text: code, imports } of modulesBelow(ROOT)) {
  const feature = featureOf(path);
  if (path.includes('/testing/')) continue;
  if (feature === 'platform' && !THROWING.includes(path)) continue;
  const reached = reach.get(feature) ?? new Set([feature]);
  reach.set(feature, reached);
  for (const { from } of imports) if (from.startsWith(ROOT)) reached.add(featureOf(from));
  const whole = emptyDefinition(feature);
  collect(parseAst(code, { lang: 'ts' }) as unknown as Node, whole, true);
  // For some operations, a table of operations and file names replaces separate handlers.
  for (const [, id = ''] of code.matchAll(/'(\w+\.\w+)'/g))
    if (Object.hasOwn(operations, id) && !handlers.has(id)) handlers.set(id, whole);
}

function emptyDefinition(feature: string): Definition {
  return { feature, names: new Set(), codes: new Set() };
}

/** Collects the names and codes in a node. Named functions and the file's constants are separate definitions. */
function collect(node: Node, into: Definition, isTop: boolean): void {
  if (node.type === 'ImportDeclaration') return;
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') into.names.add(String(node.name));
  if (node.type === 'Literal' && Object.hasOwn(ERRORS, String(node.value)))
    into.codes.add(String(node.value));
  const id = operationOf(node);
  const name = ownName(node, isTop);
  const isPart = [...handlers.values()].includes(into);
  let own = into;
  if (id !== null || (name !== null && !isPart)) {
    own = emptyDefinition(into.feature);
    if (id !== null) handlers.set(id, own);
    else definitions.set(name ?? '', [...(definitions.get(name ?? '') ?? []), own]);
    if (isTop && name !== null) into.names.add(name);
  }
  const staysTop = isTop && /^Program$|^Export|^VariableDeclaration$/.test(node.type);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) collect(child, own, staysTop);
}

function ownName({ type, id, key, value, init }: Node, isTop: boolean): string | null {
  const name = isNode(id) ? id.name : isNode(key) ? key.name : null;
  if (typeof name !== 'string' || name === 'constructor') return null;
  const isFunction = (node: unknown): boolean => isNode(node) && /Function/.test(node.type);
  if (type === 'FunctionDeclaration' || type === 'ClassDeclaration') return name;
  if (type === 'VariableDeclarator') return isTop || isFunction(init) ? name : null;
  return /^(Property|PropertyDefinition|MethodDefinition)$/.test(type) && isFunction(value) ? name : null;
}

/** The operation that a call such as `server.handle('users.list', …)` registers. */
function operationOf({ type, arguments: given }: Node): string | null {
  const [first] = type === 'CallExpression' ? (given as Node[]) : [];
  const id = first?.type === 'Literal' ? String(first.value) : '';
  return Object.hasOwn(operations, id) ? id : null;
}

/**
 * Codes that can be reached from a handler through the names in its code. The handler can throw at most these codes.
 */
function reachableCodes(handler: Definition): Set<string> {
  const seen = new Set([handler]);
  for (const { feature, names } of seen)
    for (const name of names)
      for (const next of definitions.get(name) ?? [])
        if (reach.get(feature)?.has(next.feature)) seen.add(next);
  return new Set([...seen].flatMap(({ codes }) => [...codes]));
}

test('each refusal that an operation lists can be thrown by its handler', () => {
  const never = Object.values<Operation>(operations).flatMap(({ id, refusals = {} }) => {
    const handler = handlers.get(id);
    const codes = handler === undefined ? new Set() : reachableCodes(handler);
    return Object.keys(refusals)
      .filter((code) => !codes.has(code))
      .map((code) => `${id}: ${code}`);
  });
  expect(never).toEqual([]);
});
