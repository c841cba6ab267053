export * from './fake-agent/index.ts';
export * from './fake-viewer/index.ts';
export { type NatsServer, startNats } from './nats.ts';
export {
  type OwnPostgresServer,
  type PostgresDatabase,
  type PostgresServer,
  startPostgres,
  startPostgresPair,
  usePostgres,
} from './postgres.ts';
export { ApiClient } from './stack/api-client.ts';
export { freePort } from './stack/program.ts';
export { TcpRelay } from './tcp-relay.ts';
