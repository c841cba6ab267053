import { createRequire } from 'node:module';
import { type DestinationStream, type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';

/**
 * Structured log, one JSON object per line: `logger.warn({ host_id }, 'host.lost')`. The last argument is the event's
 * name; fields never contain secrets.
 */
export type Logger = PinoLogger;

/** Field names whose values are redacted anywhere in a line. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'current_password',
  'new_password',
  'api_key',
  'invite_code',
  'token',
  'access_token',
  'secret',
  'node_secret',
  'credential',
  'setup_token',
  'x-service-setup-token',
  'x-service-dev-key',
  'x-service-enroll',
]);
/** Searched depth of a line: a field, a field of an object, a header of a request. */
const SEARCHED_LEVELS = 3;

/**
 * @param level one of pino's level names
 * @param destination default: standard output, human-readable on a terminal
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  };
  const formatters = {
    // pino's own redaction checks each path in each field: 60 kB of garbage per line.
    log: (fields: object) => withoutSecrets(fields, SEARCHED_LEVELS) as Record<string, unknown>,
  };
  const logger =
    destination === undefined && process.stdout.isTTY && hasPrettyLines()
      ? pino({
          ...options,
          formatters,
          transport: { target: 'pino-pretty', options: { messageKey: 'event' } },
        })
      : pino(
          { ...options, formatters: { ...formatters, level: (label) => ({ level: label }) } },
          destination ?? pino.destination({ dest: 1, sync: false }),
        );
  // pino does not pass a child's bindings to formatters.
  const { child } = logger;
  const searched: typeof child = function (this: Logger, bindings, options) {
    return child.call(this, withoutSecrets(bindings, SEARCHED_LEVELS), options);
  } as typeof child;
  return Object.assign(logger, { child: searched });
}

/** A logger without output, for printing commands and for tests. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

/** The packed agent lacks the package for readable lines. */
function hasPrettyLines(): boolean {
  try {
    createRequire(import.meta.url).resolve('pino-pretty');
    return true;
  } catch {
    return false;
  }
}

/** @returns the same object if nothing is redacted, the usual case */
function withoutSecrets<Fields extends object>(fields: Fields, levels: number): Fields {
  let clean: Fields | null = null;
  for (const key in fields) {
    const value = fields[key];
    const shown = SECRET_FIELDS.has(key)
      ? '[redacted]'
      : levels > 1 && isSearched(value)
        ? withoutSecrets(value, levels - 1)
        : value;
    if (shown === value) continue;
    clean ??= Array.isArray(fields) ? ([...fields] as unknown as Fields) : { ...fields };
    clean[key] = shown as Fields[typeof key];
  }
  return clean ?? fields;
}

/** Errors have a serializer, bytes have no field names, and toJSON decides for itself. */
function isSearched(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof Error) &&
    !ArrayBuffer.isView(value) &&
    !('toJSON' in value)
  );
}

/** Type, code, message and stack. Database errors also contain values of the failed row, which are omitted. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    type: error.name,
    ...('code' in error && { code: error.code }),
    message: error.message,
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
