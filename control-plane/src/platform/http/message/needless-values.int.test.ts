import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeSqlite, refused, type TestApp } from '../../../testing/index.ts';

describeSqlite('a body of a mebibyte of needless values', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  test.each([
    ['lists', `{"default_profile_id":null,"more":[${'[],'.repeat(340_000)}[]]}`],
    ['levels', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
  ])('%s: is refused before it is parsed', async (_name, body) => {
    const answer = await app.call(app.people.alice, 'PATCH', '/v1/me/profile-preferences', { body });
    expect(refused(answer, 400, 'validation_failed')).toBe('The body has more than 32768 values.');
  });
});
