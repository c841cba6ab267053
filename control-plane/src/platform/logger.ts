import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

/** Structured log: an event name plus fields, never a secret. */
export type Logger = PinoLogger;

/** Field names that never appear with their value, wherever a careless caller puts them. */
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
  'credential',
  'setup_token',
  'x-service-setup-token',
  'x-service-dev-key',
  'x-service-enroll',
]);
/** How deep a line is searched: a field, a field of an object, a header of a request. */
const SEARCHED_LEVELS = 3;

/** @param destination where lines go; standard output unless given */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // The library's own redaction follows each path on its own through each field: 60 kB of garbage for one line.
        log: (fields) => withoutSecrets(fields, SEARCHED_LEVELS),
      },
      serializers: { err: describeError },
    },
    destination ?? pino.destination({ dest: 1, sync: false }),
  );
  // What a child says in each of its lines passes no formatter.
  const { child } = logger;
  const searched: typeof child = function (this: Logger, bindings, options) {
    return child.call(this, withoutSecrets(bindings, SEARCHED_LEVELS), options);
  } as typeof child;
  return Object.assign(logger, { child: searched });
}

/** @returns the same object where there is nothing to hide, as in nearly all lines */
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

/** Errors have a serializer, bytes have no names, and what writes itself knows what it shows. */
function isSearched(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof Error) &&
    !ArrayBuffer.isView(value) &&
    !('toJSON' in value)
  );
}

/**
 * Type, code, message and stack. Database errors carry more, the values of the failed row among it, and that stays out.
 */
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
