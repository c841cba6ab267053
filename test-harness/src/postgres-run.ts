/**
 * Global set-up of a test run: one Postgres server for all workers, told to them by the environment. Suites that need
 * it make a database of their own; without this set-up each file starts its own server.
 */
import { POSTGRES_URL_VARIABLE, startPostgres } from './postgres.ts';

export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[POSTGRES_URL_VARIABLE]) return async () => undefined;
  const server = await startPostgres();
  process.env[POSTGRES_URL_VARIABLE] = server.url;
  return async () => {
    delete process.env[POSTGRES_URL_VARIABLE];
    await server.stop();
  };
}
