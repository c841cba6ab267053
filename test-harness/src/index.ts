export * from './fake-agent/index.ts';
export * from './fake-viewer/index.ts';
export { type PostgresDatabase, type PostgresServer, startPostgres, usePostgres } from './postgres.ts';
