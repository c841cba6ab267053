import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  areas,
  type Body,
  ERRORS,
  type Operation,
  type OperationId,
  operations,
  type Query,
  type Success,
} from './index.ts';

const all = Object.entries(operations) as [OperationId, Operation][];

/** Parses a body like the server. */
function parse(id: OperationId, json: string) {
  const { body } = operations[id] as Operation;
  if (!body) throw new Error(`${id} takes no body`);
  return body.schema.safeParse(JSON.parse(json));
}

describe('the record of operations', () => {
  test('holds each operation of each area, and none twice', () => {
    const ids = areas.flatMap((area) => Object.keys(area.operations));
    expect(ids).toEqual(Object.keys(operations));
  });

  test('names each operation by its own id, and no method and path twice', () => {
    const seen = new Set<string>();
    for (const [id, operation] of all) {
      expect(operation.id).toBe(id);
      const route = `${operation.method} ${operation.path}`;
      expect(seen.has(route), route).toBe(false);
      seen.add(route);
    }
  });

  test.each(all)(
    '%s: admin paths need the admin role, and every {parameter} has a schema',
    (_, operation) => {
      if (/^\/v1\/(admin|hosts)(\/|$)/.test(operation.path)) expect(operation.auth).toBe('admin');
      const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const schema = operation.params;
      const shape = schema ? Object.keys((schema as unknown as { shape: object }).shape) : [];
      expect(shape.sort()).toEqual(names.sort());
    },
  );

  test.each(all)('%s: its errors are in the table and hold what its kind implies', (_, operation) => {
    for (const code of operation.errors) expect(ERRORS).toHaveProperty(code);
    expect(operation.errors).toContain('internal');
    if (operation.auth === 'admin') expect(operation.errors).toContain('forbidden');
    if (operation.body) expect(operation.errors).toContain('validation_failed');
    expect(operation.errors.includes('client_too_old')).toBe(
      (['user', 'admin'].includes(operation.auth) && operation.versionGated !== false) ||
        operation.id === 'auth.login',
    );
  });
});

/** Fields of a schema without a description or without a type. */
function gapsIn(schema: z.ZodType, io: 'input' | 'output'): string[] {
  const gaps: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      const here = `${path}/${key}`;
      if (key === 'properties' || key === '$defs') {
        for (const [name, field] of Object.entries(value as Record<string, Record<string, unknown>>)) {
          const { description, $ref, title, default: _, ...says } = field;
          if (description === undefined && $ref === undefined) gaps.push(`${here}/${name}: no description`);
          if (Object.keys(says).length === 0 && $ref === undefined) gaps.push(`${here}/${name}: no type`);
          walk(field, `${here}/${name}`);
        }
      } else walk(value, here);
    }
  };
  walk(z.toJSONSchema(schema, { io, unrepresentable: 'any' }), '');
  return gaps;
}

describe('the texts of the contract', () => {
  test.each(all)('%s: every refusal has its sentence', (_, operation) => {
    for (const [code, condition] of Object.entries(operation.refusals ?? {}))
      expect(condition, code).toMatch(/^[A-Z`].+[.)]$/s);
  });

  test.each(all)('%s: every field has a type and a description', (_, operation) => {
    const asked = [operation.params, operation.query, operation.body?.schema];
    const gaps = [
      ...asked.flatMap((schema) => (schema ? gapsIn(schema, 'input') : [])),
      ...Object.values(operation.responses).flatMap((schema) => (schema ? gapsIn(schema, 'output') : [])),
    ];
    expect(gaps).toEqual([]);
  });

  test.each(all)('%s: its example passes the schemas', (_, operation) => {
    const { example } = operation;
    if (example === undefined) throw new Error('it has no example');
    const answers = Object.values(operation.responses).filter((schema) => schema !== null);
    const isJson = operation.contentType === undefined || operation.contentType === 'text/event-stream';
    if (operation.params) expect(operation.params.safeParse(example.params ?? {}).error).toBeUndefined();
    if (operation.query) expect(operation.query.safeParse(example.query ?? {}).error).toBeUndefined();
    if (operation.body) expect(operation.body.schema.safeParse(example.body).error).toBeUndefined();
    else expect(example.body).toBeUndefined();
    if (isJson && answers.length > 0) {
      // The example must equal the schema's result, because then it has no unknown keys.
      const parsed = answers.map((schema) => schema.safeParse(example.response));
      expect(
        parsed.map(({ data }) => data),
        String(parsed[0]?.error),
      ).toContainEqual(example.response);
      expect(example.response).toBeDefined();
    } else expect(example.response).toBeUndefined();
  });
});

describe('write bodies', () => {
  const withBody = all.filter(([, operation]) => operation.body).map(([id]) => id);

  test.each(withBody)('%s refuses anything that is no object', (id) => {
    for (const json of ['[]', '"text"', '7', 'null']) expect(parse(id, json).success, json).toBe(false);
  });

  const strict = withBody.filter((id) => (operations[id] as Operation).body?.unknownKeys === undefined);

  test.each(strict)('%s refuses an unknown key, __proto__ too', (id) => {
    for (const json of ['{"no_such_key":1}', '{"__proto__":{"a":1}}']) {
      expect(parse(id, json).success, json).toBe(false);
    }
  });

  test('lets login pass without email or password: that is a failed login, not a malformed one', () => {
    expect(parse('auth.login', '{}').success).toBe(true);
    expect(parse('auth.login', '{"email":5}').success).toBe(false);
    expect(parse('auth.login', JSON.stringify({ device_key: 'k'.repeat(257) })).success).toBe(false);
    // Bounds count code points, not UTF-16 units.
    expect(parse('auth.login', JSON.stringify({ device_key: '😀'.repeat(256) })).success).toBe(true);
  });

  test('keeps a runtime spec exactly as it was sent, odd keys included', () => {
    const spec = '{"args":["xterm"],"__proto__":{"x":1},"more":[1,{"y":null}]}';
    const parsed = parse('apps.create', `{"name":"Terminal","runtime_spec":${spec}}`);
    expect(JSON.stringify((parsed.data as Body<'apps.create'>).runtime_spec)).toBe(spec);
  });

  test.each([
    ['{"name":" "}'],
    ['{"name":"a","kind":""}'],
    ['{"name":"a","cover_url":"javascript:alert(1)"}'],
    ['{"name":"a","cover_url":"//elsewhere/x.png"}'],
    ['{"name":"a","cover_url":"/\\\\elsewhere/x.png"}'],
    ['{"name":"a","cover_url":" javascript:alert(1)"}'],
    ['{"name":"a","cover_url":"java\\nscript:alert(1)"}'],
    ['{"name":"a","default_width":1921}'],
    ['{"name":"a","default_fps":0}'],
    ['{"name":"a","default_vram_mb":2147483648}'],
    ['{"name":"a","external_id":"012"}'],
    ['{"name":"a","runtime_spec":{"args":"xterm"}}'],
    ['{"name":"a","runtime_spec":{"env":{"A":1}}}'],
    ['{"name":"a","runtime_spec":{"network":"host"}}'],
    ['{"name":"a","runtime_spec":{"args":["nul \\u0000"]}}'],
    ['{"name":"a","runtime_spec":{"env":{"A":"nul \\u0000"}}}'],
    ['{"name":"a","runtime_spec":[]}'],
    ['{"name":"a","home_container_path":"home"}'],
    ...[
      'srv/base',
      '/',
      '/srv/',
      '//srv',
      '/srv/./base',
      '/srv/../etc',
      '/srv/..',
      '/srv/\\u0000',
      '/srv/\\n',
      '',
    ].map((base) => [`{"name":"a","managed_home":true,"home_base":"${base}"}`]),
    ['{"name":"a","launchable_profile_ids":[""]}'],
    ['{"name":"a","launchable_profile_ids":null}'],
    ['{"name":"a","entitle":"first_admin"}'],
    ['{"name":"nul \\u0000"}'],
  ])('apps.create refuses %s', (json) => {
    expect(parse('apps.create', json).success).toBe(false);
  });

  test.each([
    ['{}'],
    ['{"name":"\\t"}'],
    ['{"name":null}'],
    ['{"name":"a","description":null}'],
    ['{"name":"a","image":null}'],
    ['{"name":"a","args":null}'],
    ['{"name":"a","args":"x"}'],
    ['{"name":"a","args":[1]}'],
    ['{"name":"a","env":null}'],
    ['{"name":"a","env":[]}'],
    ['{"name":"a","env":{"A":1}}'],
    ['{"name":"a","mounts":null}'],
    ['{"name":"a","mounts":{}}'],
    ['{"name":"a","managed_home":1}'],
    ['{"name":"a","home_container_path":"home"}'],
    ['{"name":"a","home_container_path":""}'],
    ['{"name":"a","network":"host"}'],
    ['{"name":"a","network":null}'],
    ['{"name":"a","used_by":[]}'],
    ['{"name":"a","managed_image_id":"x"}'],
  ])('runtimePresets.create refuses %s', (json) => {
    expect(parse('runtimePresets.create', json).success).toBe(false);
  });

  test('keeps every variable of a preset, odd names included', () => {
    const env = '{"__proto__":"x","constructor":"y","A":""}';
    const parsed = parse('runtimePresets.create', `{"name":"a","env":${env}}`);
    expect(JSON.stringify((parsed.data as Body<'runtimePresets.create'>).env)).toBe(env);
  });

  test.each([
    ['{"subject_type":"all"}', true],
    ['{"subject_type":"all","subject_id":null}', true],
    ['{"subject_type":"all","subject_id":""}', true],
    ['{"subject_type":"all","subject_id":"00000000-0000-0000-0000-000000000000"}', false],
    ['{"subject_type":"user","subject_id":"00000000-0000-0000-0000-00000000000A"}', true],
    ['{"subject_type":"user"}', false],
    ['{"subject_type":"user","subject_id":""}', false],
    ['{"subject_type":"group"}', false],
  ])('entitlements.grant takes %s: %s', (json, ok) => {
    expect(parse('entitlements.grant', json).success).toBe(ok);
  });

  test('gives defaults where the contract names them', () => {
    expect(parse('hosts.drain', '{}').data).toEqual({ force: false });
    expect(parse('enrollmentTokens.create', '{}').data).toEqual({ ttl_seconds: 3600 });
    const id = '0F000000-0000-0000-0000-00000000000A';
    expect(parse('sessions.launch', JSON.stringify({ app_id: id })).data).toEqual({
      app_id: id.toLowerCase(),
      mic: false,
    });
  });
});

describe('paging', () => {
  test.each([
    [undefined, 50],
    ['', 50],
    ['0', 50],
    ['-1', 50],
    ['1.5', 50],
    ['many', 50],
    [['1', '2'], 50],
    ['1', 1],
    ['1000', 1000],
    ['1001', 1000],
    ['99999999999999999999', 1000],
  ])('limit %j gives %d', (limit, expected) => {
    const parsed = operations['apps.list'].query.parse({ limit });
    expect((parsed satisfies Query<'apps.list'>).limit).toBe(expected);
  });

  test('takes a blank q for none, and refuses one over 100 characters', () => {
    const { query } = operations['admin.apps.list'];
    expect(query.parse({ q: '  ' }).q).toBeUndefined();
    expect(query.parse({ q: 'x'.repeat(100) }).q).toHaveLength(100);
    expect(query.safeParse({ q: 'x'.repeat(101) }).success).toBe(false);
  });
});

test('types a success by its declaration', () => {
  const login: Success<'auth.login'>['token_type'] = 'Bearer';
  const gone: Success<'auth.logout'> = undefined;
  expect([login, gone]).toEqual(['Bearer', undefined]);
});

test('lets only the exact text `true` destroy derived tiles', () => {
  const { query } = operations['apps.delete'];
  expect(query.parse({}).delete_derived).toBe(false);
  for (const value of ['', 'TRUE', '1', ['true']])
    expect(query.parse({ delete_derived: value }).delete_derived).toBe(false);
  expect(query.parse({ delete_derived: 'true' }).delete_derived).toBe(true);
});
