import { type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { COMMANDS, LOCAL_COMMANDS, NOUNS } from './commands.ts';
import { flagsOf, hasSecretBody, type OperationFlag, parseValue } from './flags.ts';
import { createProgram } from './program.ts';
import { requestOf } from './request.ts';
import type { Terminal } from './terminal.ts';

const all = Object.entries(operations) as [OperationId, Operation][];

/** The values of flags whose texts are those of an example. */
function valuesOf(operation: Operation, flags: readonly OperationFlag[]): Map<OperationFlag, unknown> {
  const { params = {}, query = {}, body } = operation.example ?? {};
  const places = { path: params, query, body: (body ?? {}) as Record<string, unknown> };
  return new Map(
    flags.flatMap((flag) => {
      const value = places[flag.place][flag.field];
      // null is written with --body.
      if (value === undefined || value === null) return [];
      return [[flag, typed(flag, value)] as const];
    }),
  );
}

/** The value that the flag's text becomes. */
function typed(flag: OperationFlag, value: unknown): unknown {
  const textOf = (each: unknown) => (typeof each === 'string' ? each : JSON.stringify(each));
  if (flag.kind === 'boolean') return value;
  if (flag.kind === 'list') return (value as unknown[]).map((each) => parseValue(flag, textOf(each)));
  return parseValue(flag, flag.kind === 'json' ? JSON.stringify(value) : textOf(value));
}

describe('flags of operations', () => {
  test.each(all)(
    '%s: its flags make the request of its example, which its schemas accept',
    (_, operation) => {
      const flags = flagsOf(operation);
      const request = requestOf(operation, valuesOf(operation, flags));
      const url = new URL(request.path, 'http://footlight.example');
      const example = operation.example ?? {};
      const filled = operation.path.replace(/\{(\w+)\}/g, (_all, name) =>
        encodeURIComponent(example.params?.[name] ?? ''),
      );
      expect(url.pathname).toBe(filled);
      expect(Object.fromEntries(url.searchParams)).toEqual(example.query ?? {});
      expect(operation.query?.safeParse(Object.fromEntries(url.searchParams)).error).toBeUndefined();
      if (operation.body === undefined) return expect(request.body).toBeUndefined();
      const withoutNulls = Object.fromEntries(
        Object.entries((example.body ?? {}) as object).filter(([, value]) => value !== null),
      );
      expect(request.body ?? {}).toEqual(withoutNulls);
      const ofPath = valuesOf(
        operation,
        flags.filter(({ place }) => place === 'path'),
      );
      expect(requestOf(operation, ofPath, example.body).body).toEqual(example.body);
    },
  );

  test.each(all)('%s: each flag has a description, and no name twice', (_, operation) => {
    const flags = flagsOf(operation);
    expect(flags.filter(({ description }) => description === '').map(({ name }) => name)).toEqual([]);
    expect(new Set(flags.map(({ name }) => name)).size).toBe(flags.length);
  });

  test('a member that is a password or a token is read from a file', () => {
    const named = all.flatMap(([id, operation]) =>
      flagsOf(operation)
        .filter(({ place, field }) => place === 'body' && /pass|secret|token|code|credential/.test(field))
        .map(({ field, kind }) => `${id} ${field} ${kind}`),
    );
    const others = ['agent.recordings.upload', 'streamProfiles', 'sessions.launch'];
    const open = named.filter(
      (line) => !line.endsWith(' secret') && !others.some((id) => line.startsWith(id)),
    );
    // Codecs and their settings contain "code", but are no codes.
    expect(open.filter((line) => !/codec|encode|decode/.test(line))).toEqual([]);
    expect(hasSecretBody(operations['auth.login'])).toBe(true);
    expect(hasSecretBody(operations['secrets.set'])).toBe(true);
    expect(hasSecretBody(operations['hosts.drain'])).toBe(false);
  });

  test('a field that may be null has the kind of its other values', () => {
    const kindsOf = (id: OperationId) =>
      Object.fromEntries(flagsOf(operations[id]).map(({ field, kind }) => [field, kind]));
    expect(kindsOf('users.update')).toMatchObject({ role: 'text', disabled: 'boolean' });
    expect(kindsOf('users.update')).toMatchObject({ max_concurrent_sessions: 'number' });
    expect(kindsOf('library.scan')).toEqual({ app_id: 'text', user_id: 'text' });
  });

  test('a text cannot change the path', () => {
    const flags = flagsOf(operations['hosts.drain']);
    const pathOf = (id: string) =>
      requestOf(operations['hosts.drain'], new Map([[flags[0] as OperationFlag, id]])).path;
    expect(pathOf('../users?x=1#y')).toBe('/v1/hosts/..%2Fusers%3Fx%3D1%23y/drain');
    for (const text of ['', '.', '..']) expect(() => pathOf(text)).toThrow('no id or name');
  });
});

describe('the commands', () => {
  const program = createProgram({} as Terminal, { exitCode: 0 });
  const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)];

  test('api has each operation', () => {
    const api = program.commands.find((command) => command.name() === 'api');
    expect(api?.commands.map((command) => command.name()).sort()).toEqual(all.map(([id]) => id).sort());
  });

  test('each row has a noun with a description, and a verb of its own', () => {
    for (const { noun } of COMMANDS) expect(NOUNS).toHaveProperty(noun);
    for (const noun of Object.keys(NOUNS))
      expect(
        COMMANDS.some((row) => row.noun === noun),
        noun,
      ).toBe(true);
    const words = COMMANDS.map(({ noun, verb }) => `${noun} ${verb}`);
    expect(new Set(words).size).toBe(words.length);
    const ours = program.commands.map((command) => command.name());
    expect(Object.keys(LOCAL_COMMANDS).filter((name) => ours.includes(name))).toEqual([]);
  });

  test.each(COMMANDS.filter(({ columns }) => columns !== undefined))(
    '$noun $verb: its columns are fields of the answer',
    ({ id, columns }) => {
      const rows = Object.values((operations[id] as Operation).example?.response as object).find(
        Array.isArray,
      );
      for (const path of (columns ?? '').split(' ')) {
        const [first = ''] = path.split('.');
        expect(Object.keys(rows?.[0]), path).toContain(first);
      }
    },
  );

  test.each(COMMANDS.filter(({ sets, only }) => sets !== undefined || only !== undefined))(
    '$noun $verb: what it sets is a field',
    ({ id, sets = {}, only = [] }) => {
      const fields = flagsOf(operations[id]).map(({ field }) => field);
      for (const field of [...Object.keys(sets), ...only]) expect(fields).toContain(field);
    },
  );

  test('no flag takes a password or token as its value', () => {
    const taking = below(program)
      .flatMap((command) => command.options.map((option) => `${command.name()} ${option.flags}`))
      .filter((line) => /--[\w-]*(?:password|token|secret|invite-code|credential)/.test(line))
      .filter((line) => !/-file <file>$/.test(line));
    expect(taking).toEqual([]);
  });
});
