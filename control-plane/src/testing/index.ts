export { ManualClock, TEST_EPOCH_MS } from '@footlight/platform/testing';
export { loggedActivity } from './activity-log.ts';
export { refused, UNKNOWN_ID } from './answers.ts';
export {
  type Answer,
  type CallOptions,
  createTestApp,
  type Person,
  type TestApp,
  type TestAppOptions,
} from './app.ts';
export { dumpDatabase } from './database-dump.ts';
export { describeDatabases, describePostgres, describeSqlite, type TestDatabases } from './databases.ts';
export { openEventStream } from './event-stream.ts';
export { addLargeFleet } from './large/large-fleet.ts';
export { takeOverLease } from './lease-takeover.ts';
export { PATIENTLY } from './patience.ts';
export { ofOneProcess, REPLICAS } from './replicas.ts';
export { addHost, addSession, type SessionColumns } from './sessions.ts';
export {
  CHEAP_HASHES,
  FREE_SIGN_IN,
  OPEN_REGISTRATION,
  PASSWORD,
  ROOMY_QUEUE,
  signIn,
  signUp,
} from './sign-in.ts';
