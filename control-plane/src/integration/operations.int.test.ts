import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AuthKind,
  DEFAULT_BODY_BYTES,
  ERRORS,
  type ErrorCode,
  errorEnvelope,
  type Operation,
  type OperationId,
  operations,
  UNAVAILABLE_STATUS,
} from '@footlight/protocol/rest';
import { FakeAgent } from '@footlight/test-harness';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  type CallOptions,
  createTestApp,
  describeDatabases,
  type Person,
  REPLICAS,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';

const all = Object.entries(operations) as [OperationId, Operation][];
const bearerOnes = all.filter(([, operation]) => operation.auth === 'user' || operation.auth === 'admin');
const adminOnes = all.filter(([, operation]) => operation.auth === 'admin');
const withId = all.filter(([, operation]) => /\{(\w+_)?id\}/.test(operation.path));
/** Operations whose ids are UUIDs; other ids are texts that people choose. */
const withUuid = withId.filter(([, { params, path }]) => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'x']);
  return !params?.safeParse(Object.fromEntries(names)).success;
});
/** Each of several replicas has its own developer key, so a request with one of them is refused by the others. */
const withBody = all.filter(
  ([, { auth, body }]) => body !== undefined && !(REPLICAS > 1 && auth === 'dev-key'),
);
const withoutBody = all.filter(
  ([, { body, method, upload }]) => body === undefined && upload === undefined && method !== 'GET',
);
const withUpload = all.filter(([, operation]) => operation.upload !== undefined);

/** Kinds of callers that authenticate with a secret of the service: the header, and the file with the secret. */
const SECRETS: Partial<Record<AuthKind, { header: string; file: string }>> = {
  'setup-token': { header: 'x-service-setup-token', file: 'setup-token' },
  'dev-key': { header: 'x-service-dev-key', file: 'dev-agent-key' },
};

const ENROLLMENT_TOKEN = 'a-fixed-enrollment-token';
const MALFORMED_IDS = [
  'x',
  '%00',
  `${UNKNOWN_ID}0`,
  UNKNOWN_ID.slice(1),
  UNKNOWN_ID.replaceAll('-', ''),
  `{${UNKNOWN_ID}}`,
  '..%2f',
  '1 or 1=1',
];

const UNKNOWN_KEYS = [
  '{"no_such_key":1}',
  '{"__proto__":{"role":"admin"}}',
  '{"constructor":{"prototype":{}}}',
];

/** Permitted answers for an unknown id. */
const NO_SUCH: readonly ErrorCode[] = ['not_found', 'not_installed', 'forbidden'];

/** An id that passes the checks before the body: the job must exist, because jobs are looked up first. */
const idOf = ({ path }: Operation): string => (path.includes('{job_id}') ? 'auth.token_janitor' : UNKNOWN_ID);

/** A picture of one pixel, as an upload. */
const PICTURE: CallOptions = {
  body: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  headers: { 'content-type': 'image/png' },
};

/** A file that the operation accepts. */
const fileFor = ({ upload }: Operation): CallOptions =>
  upload?.isPassedOn ? { body: Buffer.from('a film'), headers: { 'content-type': 'video/mp4' } } : PICTURE;

/** The id of a shop's title is not a UUID. Use a valid one, so that only the other id is tested. */
const urlOf = (operation: Operation, id = UNKNOWN_ID): string =>
  operation.path.replace(/\{(\w+)\}/g, (_, name) => (name === 'external_id' ? '440' : encodeURI(id)));

/** Expects an answer as declared: the error envelope, a declared code, and the code's status. */
function expectRefusal(operation: Operation, answer: Answer, code: ErrorCode): void {
  expect(answer.body?.error?.code, answer.text).toBe(code);
  expectDeclared(operation, answer);
}

function expectSuccess(operation: Operation, answer: Answer): void {
  expect(answer.status, answer.text).toBeLessThan(300);
  expectDeclared(operation, answer);
}

/** Expects that the operation declares this answer. */
function expectDeclared(operation: Operation, answer: Answer): void {
  if (answer.status < 400) {
    expect(operation.responses).toHaveProperty(String(answer.status));
    const schema = operation.responses[answer.status];
    if (schema === null) expect(answer.text).toBe('');
    if (schema && operation.contentType === undefined)
      expect(schema.safeParse(answer.body).error).toBeUndefined();
    return;
  }
  const envelope = errorEnvelope.parse(answer.body);
  const code = envelope.error.code as ErrorCode;
  expect(answer.headers['content-type']).toContain('application/json');
  expect(operation.errors).toContain(code);
  // The message must say what is missing.
  if (code === 'not_found') expect(envelope.error.message).not.toBe(ERRORS.not_found.message);
  const seconds: Partial<Record<ErrorCode, number>> = {
    internal: UNAVAILABLE_STATUS,
    ...(operation.upload && { validation_failed: 413 }),
  };
  expect([ERRORS[code].status, seconds[code]]).toContain(answer.status);
}

describeDatabases('every declared operation', ({ fresh }) => {
  let app: TestApp;
  /** Headers with all secrets of the service, all of them right. */
  let secrets: Record<string, string>;
  /** An enrolled and connected host. */
  let agent: FakeAgent;
  /** Folder with an archive of a few bytes instead of the real 48 MB. */
  let installDir: string;

  beforeAll(async () => {
    installDir = mkdtempSync(join(tmpdir(), 'install-'));
    for (const name of ['agent.sh', 'agent-linux-x64.tgz']) writeFileSync(join(installDir, name), name);
    app = await createTestApp(await fresh(), {
      env: {
        SERVICE_ENROLLMENT_TOKEN: ENROLLMENT_TOKEN,
        // Switch on the optional operations, so that they are tested too.
        SERVICE_DEV_AGENT_AUTH: '1',
        // Nothing listens on this port.
        SERVICE_OIDC_ISSUER: 'http://127.0.0.1:1',
        SERVICE_OIDC_CLIENT_ID: 'footlight',
        SERVICE_OIDC_CLIENT_SECRET: 'secret',
        PUBLIC_BASE_URL: 'https://footlight.example',
      },
      overrides: {
        installDir,
        accountLimits: {
          signIn: { capacity: 1_000_000, refillEveryMs: 1 },
          perUser: { capacity: 1_000_000, refillEveryMs: 1 },
          claim: { maxRejected: 1_000_000, pauseMs: 1, inFlightPerAddress: 1_000, inFlightTotal: 1_000 },
        },
      },
    });
    secrets = Object.fromEntries(
      Object.values(SECRETS).map(({ header, file }) => [
        header,
        readFileSync(join(app.dir, 'run', file), 'utf8').trim(),
      ]),
    );
    const { http } = await app.plane.listen();
    agent = new FakeAgent({
      url: http,
      nodeName: 'hosta',
      credential: { token: ENROLLMENT_TOKEN },
      heartbeatMs: 0,
    });
    await agent.connect();
  });
  afterAll(async () => {
    rmSync(installDir, { recursive: true, force: true });
    await agent.drop();
    await app.close();
  });

  /**
   * An account that may call the operation. For auth.logout a new person is used each time, because a logout ends the
   * token.
   */
  async function callerOf(operation: Operation): Promise<Person | null> {
    if (operation.auth === 'admin') return app.people.admin;
    if (operation.id === 'auth.logout') return app.addPerson(`leaver-${crypto.randomUUID()}`);
    return operation.auth === 'user' ? app.people.alice : null;
  }

  async function callWell(operation: Operation, options: CallOptions = {}, id = UNKNOWN_ID): Promise<Answer> {
    const headers = {
      ...(operation.auth in SECRETS && secrets),
      // The host's socket is excluded, because it requires an upgrade first.
      ...(operation.auth === 'node' && !operation.websocket && agent.headers()),
      ...options.headers,
    };
    return app.call(await callerOf(operation), operation.method, urlOf(operation, id), {
      ...options,
      headers,
    });
  }

  test('has a handler', () => {
    expect(app.plane.server.unhandled()).toEqual([]);
  });

  describe('who may call', () => {
    test.each(bearerOnes)(
      '%s: 401 without a token that is in force, whatever else is wrong',
      async (_, operation) => {
        const [expired, revoked, disabled] = [
          await app.addPerson(`expired-${crypto.randomUUID()}`, 'admin'),
          await app.addPerson(`revoked-${crypto.randomUUID()}`, 'admin'),
          await app.addPerson(`disabled-${crypto.randomUUID()}`, 'admin'),
        ];
        const { db } = app.plane.platform.database;
        await db
          .updateTable('auth_tokens')
          .set({ expires_at: 1 })
          .where('user_id', '=', expired.id)
          .execute();
        await db
          .updateTable('auth_tokens')
          .set({ revoked_at: 1 })
          .where('user_id', '=', revoked.id)
          .execute();
        await db.updateTable('users').set({ disabled_at: 1 }).where('id', '=', disabled.id).execute();
        const nobody = { ...app.people.bob, token: 'A'.repeat(43) };
        for (const caller of [null, nobody, expired, revoked, disabled]) {
          const broken = { body: '{', headers: { 'x-service-client-version': '0.0.0' } };
          const answer = await app.call(caller, operation.method, urlOf(operation, 'x'), broken);
          expectRefusal(operation, answer, 'unauthorized');
        }
        const otherKinds = { headers: { ...secrets, cookie: `service_page=${'A'.repeat(43)}` } };
        expectRefusal(
          operation,
          await app.call(null, operation.method, urlOf(operation), otherKinds),
          'unauthorized',
        );
      },
    );

    test.each([...bearerOnes, ...all.filter(([, operation]) => operation.auth === 'setup-token')])(
      '%s: 401 with the credentials of a host, enrolled or about to be',
      async (_, operation) => {
        const { secret } = agent;
        const credentials = [agent.headers(), { authorization: `Bearer ${secret}` }].flatMap((headers) => [
          headers,
          { ...headers, 'x-service-setup-token': String(secret), cookie: `service_page=${secret}` },
        ]);
        credentials.push({ ...agent.headers(), Authorization: `Enroll ${ENROLLMENT_TOKEN}` });
        for (const headers of credentials)
          expectRefusal(
            operation,
            await app.call(null, operation.method, urlOf(operation), { body: '{', headers }),
            'unauthorized',
          );
      },
    );

    test.each(adminOnes)(
      '%s: 403 for a user, before the path, the body or any lookup',
      async (_, operation) => {
        for (const id of [UNKNOWN_ID, 'x']) {
          const answer = await app.call(app.people.alice, operation.method, urlOf(operation, id), {
            body: '{',
          });
          expectRefusal(operation, answer, 'forbidden');
        }
      },
    );

    test.each(all.filter(([, operation]) => operation.auth in SECRETS))(
      '%s: 401 without the right secret, the same answer for none and a wrong one',
      async (_, operation) => {
        const { header } = SECRETS[operation.auth] as { header: string };
        const { [header]: right, ...others } = secrets;
        const answers = [];
        for (const headers of [
          {},
          { [header]: 'wrong' },
          { [header]: `${right}0` },
          { ...others, authorization: `Bearer ${app.people.admin.token}` },
        ]) {
          const answer = await app.call(null, operation.method, urlOf(operation), {
            body: '{',
            headers: headers as Record<string, string>,
          });
          expectRefusal(operation, answer, 'unauthorized');
          answers.push(answer.text);
        }
        expect(new Set(answers).size).toBe(1);
      },
    );

    test.each(all.filter(([, operation]) => operation.websocket))(
      '%s: answers with the envelope to a request that is no upgrade',
      async (_, operation) => {
        expectRefusal(
          operation,
          await app.call(null, operation.method, urlOf(operation)),
          'validation_failed',
        );
        const foreign = { headers: { origin: 'https://evil.example' } };
        expectRefusal(
          operation,
          await app.call(null, operation.method, urlOf(operation), foreign),
          'forbidden',
        );
      },
    );
  });

  describe('what is asked', () => {
    test.each(withUuid)('%s: a malformed uuid is 400, never 404 or 500', async (_, operation) => {
      for (const id of MALFORMED_IDS) {
        const answer = await callWell(operation, {}, id);
        // After decoding this is another path, which may have no route.
        if (id === '..%2f' && answer.status === 404) continue;
        expectRefusal(operation, answer, 'validation_failed');
      }
    });

    test.each(withId)(
      '%s: an unknown id is 404, 403 where rows have an owner, and a success where nothing has to be there',
      async (_, operation) => {
        // Valid bodies, so that only the id is tested.
        const bodies: Partial<Record<OperationId, unknown>> = {
          'apps.update': {},
          'runtimePresets.update': {},
          'streamProfiles.update': {},
          'launchProfiles.update': {},
          'entitlements.grant': { subject_type: 'all' },
        };
        const body = bodies[operation.id as OperationId] ?? operation.example?.body;
        const options = operation.upload ? fileFor(operation) : body === undefined ? {} : { body };
        // Expect not_found for administrators, who may know which ids exist; others get the operation's first code.
        const codes = operation.errors.filter((code) => NO_SUCH.includes(code));
        const asked: ErrorCode[] =
          operation.auth === 'node' && !operation.websocket
            ? // A host cannot distinguish an unknown id from an id of another host.
              ['unauthorized']
            : codes.filter((code) => operation.auth !== 'admin' || code !== 'forbidden');
        const expected = (code: ErrorCode | undefined, answer: Answer) =>
          code === undefined ? expectSuccess(operation, answer) : expectRefusal(operation, answer, code);
        const upper = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';
        for (const id of [UNKNOWN_ID, upper]) {
          expected(asked[0], await callWell(operation, options, id));
          const asAdmin = await app.call(app.people.admin, operation.method, urlOf(operation, id), options);
          expected(asked.find((code) => code === 'not_found') ?? asked[0], asAdmin);
        }
      },
    );

    test.each(withBody)(
      '%s: a body that is cut, oversized, no object, or has a key it may not have is 400',
      async (_, operation) => {
        const cap = operation.body?.maxBytes ?? DEFAULT_BODY_BYTES;
        const bodies = [
          '{',
          '{} {}',
          '[]',
          '"text"',
          'null',
          `{"no_such_key":"${'x'.repeat(cap)}"}`,
          Buffer.from([0x7b, 0xff, 0x7d]),
          ...(operation.body?.unknownKeys === undefined ? UNKNOWN_KEYS : []),
        ];
        for (const body of bodies) {
          for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'x']) {
            expectRefusal(
              operation,
              await callWell(operation, { body, headers: { 'content-type': type } }, idOf(operation)),
              'validation_failed',
            );
          }
        }
        const empty = await callWell(operation, { body: '' }, idOf(operation));
        if (operation.body?.optional) expect(empty.body?.error?.code).not.toBe('validation_failed');
        else expectRefusal(operation, empty, 'validation_failed');
      },
    );

    test.each(withUpload)(
      '%s: a file without its type, of another one, empty or over the cap is refused before any lookup',
      async (_, operation) => {
        const { body, headers } = fileFor(operation);
        const cases: CallOptions[] = [
          { body },
          { body, headers: { 'content-type': 'application/octet-stream' } },
          { body: '', ...(headers && { headers }) },
          { body: '<svg xmlns="http://www.w3.org/2000/svg"/>', headers: { 'content-type': 'image/svg+xml' } },
          { body: Buffer.alloc((operation.upload?.defaultMaxBytes ?? 0) + 1), ...(headers && { headers }) },
        ];
        const statuses = [];
        for (const options of cases) {
          const answer = await callWell(operation, options);
          expectRefusal(operation, answer, 'validation_failed');
          statuses.push(answer.status);
        }
        expect(statuses).toEqual([400, 400, 400, 400, 413]);
      },
    );

    test.each(withoutBody)('%s: a body where none is defined is ignored', async (_, operation) => {
      const [none, broken] = [await callWell(operation), await callWell(operation, { body: '{ not json' })];
      expect([broken.status, broken.body?.error?.code]).toEqual([none.status, none.body?.error?.code]);
      expectDeclared(operation, broken);
    });

    test.each(all)('%s: answers what it declares to a plain call', async (_, operation) => {
      expectDeclared(operation, await callWell(operation, operation.body ? { body: {} } : {}));
    });

    test.each(all)('%s: another method is 405 with the methods that work', async (_, operation) => {
      const taken = new Set(
        all.filter(([, other]) => other.path === operation.path).map(([, other]) => other.method),
      );
      const free = (['PUT', 'PATCH', 'DELETE', 'POST'] as const).find((method) => !taken.has(method));
      const answer = await app.call(app.people.admin, free ?? 'PUT', urlOf(operation));
      expect([answer.status, answer.body?.error?.code]).toEqual([405, 'method_not_allowed']);
      for (const method of taken) expect(String(answer.headers.allow)).toContain(method);
    });
  });

  test('answers undeclared paths of the API with 404 in the envelope', async () => {
    for (const url of ['/v1', '/v1/', '/v1/nothing', '/v1/apps/', '/agent', '/v1/auth/login/x', '/v1/%ff']) {
      const answer = await app.call(app.people.admin, 'GET', url);
      expect([404, 400], `${url} ${answer.text}`).toContain(answer.status);
      expect(errorEnvelope.safeParse(answer.body).success, url).toBe(true);
      if (answer.status === 404) expect(answer.body.error.message).toBe(`There is no path ${url}.`);
    }
  });

  test('the message about an unknown id names it', async () => {
    for (const [url, message] of [
      ['/v1/apps/ID', 'There is no app ID.'],
      ['/v1/admin/apps/ID/entitlements', 'There is no app ID.'],
      ['/v1/admin/launch-profiles/ID', 'There is no launch profile ID.'],
      ['/v1/admin/runtime-presets/ID', 'There is no runtime preset ID.'],
      ['/v1/admin/jobs/ID', 'There is no job ID.'],
      // A long path is cut.
      [`/v1/${'x'.repeat(200)}`, `There is no path /v1/${'x'.repeat(96)}.`],
    ] as const) {
      const answer = await app.call(app.people.admin, 'GET', url.replace('ID', UNKNOWN_ID));
      expect(answer.body.error, url).toEqual({
        code: 'not_found',
        message: message.replace('ID', UNKNOWN_ID),
      });
    }
  });

  // Derived from valid values of the schemas, so that some bodies pass the first check.
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string(),
    fc.constantFrom(
      'all',
      'user',
      'none',
      '',
      '\0',
      UNKNOWN_ID,
      '\ud800',
      'x'.repeat(300),
      2147483648,
      -1,
      0.5,
      1e308,
      null,
      true,
    ),
  );

  test.each(withBody)('%s: survives any body', async (_, operation) => {
    const keys = keysOf(operation);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...keys) }, { weight: 1, arbitrary: fc.string() }),
          value,
          {
            maxKeys: keys.length,
          },
        ),
        async (body) => {
          const answer = await callWell(operation, { body: JSON.stringify(body) });
          expect(answer.body?.error?.code).not.toBe('internal');
          expectDeclared(operation, answer);
        },
      ),
      { numRuns: 25 },
    );
  });
});

/**
 * Names of the keys that a body may have, from the schema of an object body. For a body of another form they come from
 * the example.
 */
function keysOf({ body, example }: Operation): string[] {
  type Shaped = { def: { shape?: object; out?: Shaped } };
  const shaped = body?.schema as Shaped | undefined;
  return Object.keys((shaped?.def.out ?? shaped)?.def.shape ?? example?.body ?? {});
}
