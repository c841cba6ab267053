/**
 * Global set-up of a test run: one Postgres server for all workers, passed on by an environment variable. Suites that
 * need Postgres create separate databases. Without this set-up each file starts a server.
 */
import { appendFile } from 'node:fs/promises';
import { POSTGRES_URL_VARIABLE, startPostgres } from './postgres.ts';
import { DeadlocksLogged } from './postgres-log.ts';

/** File for the deadlock reports, read by `scripts/test`. Unset: the run fails with the reports. */
const REPORT_VARIABLE = 'FOOTLIGHT_TEST_DEADLOCKS';

export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[POSTGRES_URL_VARIABLE]) return async () => undefined;
  const server = await startPostgres();
  process.env[POSTGRES_URL_VARIABLE] = server.url;
  return async () => {
    delete process.env[POSTGRES_URL_VARIABLE];
    try {
      await server.stop();
    } catch (error) {
      const report = process.env[REPORT_VARIABLE];
      if (!(error instanceof DeadlocksLogged) || report === undefined) {
        // Vitest 4.1 prints an error of a teardown, but still exits with 0.
        process.exitCode = 1;
        throw error;
      }
      await appendFile(report, `${error.message}\n`);
    }
  };
}
