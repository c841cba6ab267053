import { type Operation, operations } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp, UNKNOWN_ID } from '../../../testing/index.ts';

// Bodies per database: together a million in the long run, and 4,000 otherwise.
const BODIES = process.env.FOOTLIGHT_LONG === '1' ? 500_000 : 2_000;

const WITH_BODY: readonly Operation[] = Object.values(operations).filter(
  (operation: Operation) => operation.body,
);
const KEYS = [
  'name',
  'description',
  'kind',
  'enabled',
  'entitle',
  'parent_app_id',
  'runtime_spec',
  'args',
  'env',
  'mounts',
  'app_id',
  'stream',
  'width',
  'fps',
  'email',
  'username',
  'password',
  'device_key',
  'subject_type',
  'subject_id',
  'force',
  'note',
  'ttl_seconds',
  'node_name',
  'launchable_profile_ids',
  'cover_url',
  '__proto__',
  'constructor',
  'toString',
  '',
];
const VALUES = [
  '',
  ' ',
  '\0',
  '\ud800',
  'all',
  'user',
  'game',
  'a@b.example',
  '/x',
  'x'.repeat(5_000),
  '../..',
  'correct horse battery',
  UNKNOWN_ID,
  0,
  -1,
  1,
  16,
  1e308,
  2 ** 53,
  0.5,
  true,
  false,
  null,
  [],
  {},
];

const jsonValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...VALUES),
    fc.string(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }),
  ),
})).value;
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .dictionary(fc.constantFrom(...KEYS), jsonValue, { maxKeys: 10 })
      .map((value) => JSON.stringify(value)),
  },
  { weight: 2, arbitrary: jsonValue.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: jsonValue.map((value) => JSON.stringify(value).slice(0, -1)) },
);

describeDatabases('bodies of every shape', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  test('are answered below 500, and the service goes on', { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...WITH_BODY), body, async (operation, payload) => {
        const url = operation.path.replace(/\{[^}]+\}/g, UNKNOWN_ID);
        const answer = await app.call(app.people.admin, operation.method, url, { body: payload });
        expect([
          operation.id,
          answer.status < 500 || answer.status === 503,
          answer.text.slice(0, 200),
        ]).toEqual([operation.id, true, expect.any(String)]);
      }),
      { numRuns: BODIES / 2 },
    );
    expect((await app.call(null, 'GET', '/health')).status).toBe(200);
  });
});
