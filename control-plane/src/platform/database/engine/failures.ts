/** Meaning of a database error for the caller. */
export type Failure = 'unique' | 'busy' | 'full' | 'retry' | 'down' | 'other';

const POSTGRES: Readonly<Record<string, Failure>> = {
  '23505': 'unique',
  // serialization_failure, deadlock_detected: retry the transaction.
  '40001': 'retry',
  '40P01': 'retry',
  // foreign_key_violation: a referenced row was deleted concurrently; a retry sees that.
  '23503': 'retry',
  // lock_not_available, query_canceled (statement_timeout), too_many_connections.
  '55P03': 'busy',
  '57014': 'busy',
  '53300': 'busy',
  '53100': 'full',
  // read_only_sql_transaction (a standby), idle_in_transaction_session_timeout, insufficient_privilege.
  '25006': 'down',
  '25P03': 'down',
  '42501': 'down',
  // data_corrupted, index_corrupted. Not internal_error, which a single statement can cause.
  XX001: 'down',
  XX002: 'down',
};

/**
 * Postgres error classes of the server, not of a statement: connection, authorization, database, resources, operator
 * (a shutdown), system.
 */
const POSTGRES_DOWN = /^(08|28|3D|53|57|58)[0-9A-Z]{3}$/;
/**
 * SQLite errors of the file, not of a statement. Classified as any other failure they would confirm reports that are
 * not stored.
 */
const SQLITE_DOWN = /^SQLITE_(IOERR|READONLY|CANTOPEN|NOMEM|PROTOCOL|PERM|AUTH|CORRUPT|NOTADB)(_|$)/;

const SOCKET = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  // No descriptor or no port is left for one more connection.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
]);

/** Message of node-postgres when `query_timeout` passed. */
const READ_TIMEOUT = 'Query read timeout';

/**
 * Classifies an error of either driver.
 * Sources: SQLite result codes; PostgreSQL error codes (appendix A); node-postgres reports lost connections and
 * time-outs by message only.
 */
export function classifyFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return 'other';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE') return 'unique';
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') return 'retry';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') return 'full';
  if (SQLITE_DOWN.test(code)) return 'down';
  if (isOutdatedPlan(error)) return 'retry';
  const known = POSTGRES[code];
  if (known) return known;
  if (POSTGRES_DOWN.test(code)) return 'down';
  if (SOCKET.has(code) && 'syscall' in error) return 'down';
  if (
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying)/.test(
      error.message,
    )
  )
    return 'down';
  if (error.message === READ_TIMEOUT) return 'busy';
  return 'other';
}

/**
 * Whether a statement returns other columns than when it was planned: another replica has added one (a rolling
 * upgrade). Postgres reports it until the statement is prepared under another name. The message is translated and the
 * error code has other uses, so the name of the reporting function decides. Source: PostgreSQL, plancache.c.
 */
export const isOutdatedPlan = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === '0A000' &&
  'routine' in error &&
  error.routine === 'RevalidateCachedQuery';

const CONTENDED = new Set(['40001', '40P01']);

/** Whether Postgres aborted a transaction because of others (serialization failure, deadlock): retry it. */
export const isContended = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CONTENDED.has(String(error.code));

/** Whether a write violated a unique key. */
export const isUniqueViolation = (error: unknown): boolean => classifyFailure(error) === 'unique';

/**
 * Waits for a write. Only the write detects two concurrent uses of one key.
 * @throws `taken()` for a duplicate key; other errors unchanged
 */
export async function onUniqueViolation<T>(taken: () => Error, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw isUniqueViolation(error) ? taken() : error;
  }
}

/** Whether the request may succeed in a moment: the answer is 503 with Retry-After. */
export function isUnavailable(error: unknown): boolean {
  const failure = classifyFailure(error);
  return failure === 'busy' || failure === 'full' || failure === 'down' || failure === 'retry';
}

/** Whether the last statement may have been executed although its answer was lost. */
export function isOutcomeUnknown(error: unknown): boolean {
  return classifyFailure(error) === 'down' || (error instanceof Error && error.message === READ_TIMEOUT);
}

/** Whether every other query would fail now as well. */
export function isDown(error: unknown): boolean {
  const failure = classifyFailure(error);
  return failure === 'busy' || failure === 'full' || failure === 'down';
}
