import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeSqlite, type TestApp } from '../../testing/index.ts';

const REQUESTS = 300;
const LINES_PER_MINUTE = 120;

describeSqlite('a stranger cannot fill the disk with lines of the log', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  const lines = (event: string): number =>
    app.log.filter((line) => /"level":"(warn|error)"/.test(line) && line.includes(`"event":"${event}"`))
      .length;

  test('with requests that are answered with 503', async () => {
    for (let n = 0; n < REQUESTS; n += 1) {
      expect((await app.call(null, 'GET', '/v1/tls/certificate.pem')).status).toBe(503);
    }
    expect(lines('http.request')).toBe(LINES_PER_MINUTE);
  });

  test('with requests that fail while the database is gone', async () => {
    await app.plane.platform.database.close();
    for (let n = 0; n < REQUESTS; n += 1) {
      expect((await app.call(null, 'GET', '/v1/setup/status')).status).toBeGreaterThanOrEqual(500);
    }
    expect(lines('http.failed')).toBeGreaterThan(0);
    expect(lines('http.failed')).toBeLessThanOrEqual(LINES_PER_MINUTE);
  });
});
