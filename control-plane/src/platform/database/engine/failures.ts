/** Classes of database errors, by their consequence for the caller. */
export type Failure = 'unique' | 'busy' | 'full' | 'retry' | 'down' | 'other';

const POSTGRES: Readonly<Record<string, Failure>> = {
  '23505': 'unique',
  // serialization_failure, deadlock_detected: retry the transaction.
  '40001': 'retry',
  '40P01': 'retry',
  // foreign_key_violation: a referenced row was deleted concurrently; a retry sees the deletion.
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
  // data_corrupted, index_corrupted. internal_error is not listed, because a single statement can cause it.
  XX001: 'down',
  XX002: 'down',
};

/**
 * Postgres error classes that concern the server, not a statement: connection, authorization, database, resources,
 * operator (a shutdown), system.
 */
const POSTGRES_DOWN = /^(08|28|3D|53|57|58)[0-9A-Z]{3}$/;
/**
 * SQLite errors that concern the file, not a statement. If they counted as `other`, reports would be confirmed although
 * they are not stored.
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
  // No file descriptor or no port is left for another connection.
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
]);

/** Message of node-postgres when `query_timeout` passed. */
const READ_TIMEOUT = 'Query read timeout';

/**
 * Classifies an error of either driver. Sources: SQLite result codes; PostgreSQL error codes (appendix A);
 * node-postgres reports lost connections and time-outs only by the message text.
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
 * Whether a statement now returns other columns than when it was planned, because another replica added a column in a
 * rolling upgrade. Postgres reports this error until the statement is prepared under another name. The message may be
 * translated and the error code has other uses, so the name of the reporting function decides. Source: PostgreSQL,
 * plancache.c.
 */
export const isOutdatedPlan = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === '0A000' &&
  'routine' in error &&
  error.routine === 'RevalidateCachedQuery';

const CONTENDED = new Set(['40001', '40P01']);

/**
 * Whether Postgres aborted a transaction because of other transactions (serialization failure, deadlock), so that a
 * retry can succeed.
 */
export const isContended = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CONTENDED.has(String(error.code));

/** Whether a write violated a unique key. */
export const isUniqueViolation = (error: unknown): boolean => classifyFailure(error) === 'unique';

/**
 * Waits for a write and converts a duplicate key into an error for the caller. Only the write itself can detect two
 * concurrent uses of one key.
 * @throws `taken()` for a duplicate key; other errors unchanged
 */
export async function onUniqueViolation<T>(taken: () => Error, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw isUniqueViolation(error) ? taken() : error;
  }
}

/** Whether a retry of the request may soon succeed; the answer is then 503 with Retry-After. */
export function isUnavailable(error: unknown): boolean {
  const failure = classifyFailure(error);
  return failure === 'busy' || failure === 'full' || failure === 'down' || failure === 'retry';
}

/** Whether the last statement may have been executed although its answer was lost. */
export function isOutcomeUnknown(error: unknown): boolean {
  return classifyFailure(error) === 'down' || (error instanceof Error && error.message === READ_TIMEOUT);
}

/** Whether every other query would currently fail too. */
export function isDown(error: unknown): boolean {
  const failure = classifyFailure(error);
  return failure === 'busy' || failure === 'full' || failure === 'down';
}
