import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { LogEvent } from '@footlight/protocol/telemetry';
import { type DestinationStream, type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/**
 * Structured log, one JSON object per line: `logger.warn({ host_id }, 'session.host_lost')`. The event name must be
 * declared in LOG_EVENTS; fields never contain secrets.
 */
export type Logger<Event extends string = LogEvent> = Record<
  LogLevel,
  (fields: object, event: Event) => void
> & {
  /** Creates a logger that adds these fields to each line. */
  child(bindings: object): Logger<Event>;
  isLevelEnabled(level: LogLevel): boolean;
};

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
/** Largest number of bytes in lines that wait to be written; further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Number of levels of a line that are searched: a field, a field of an object, a header of a request. */
const SEARCHED_LEVELS = 3;

/**
 * @param level one of pino's level names
 * @param destination default: standard output; on a terminal the lines are formatted for people
 */
export function createLogger<Event extends string = LogEvent>(
  level: string,
  destination?: DestinationStream,
): Logger<Event> {
  const options: LoggerOptions = {
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  };
  const formatters = {
    // pino's own redaction is not used, because it checks each path in each field, which is slow: 60 kB of garbage per
    // line.
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
          destination ?? standardOutput(),
        );
  // Redacted here, because pino does not pass a child's bindings to formatters.
  const { child } = logger;
  const searched: typeof child = function (this: PinoLogger, bindings, options) {
    return child.call(this, withoutSecrets(bindings, SEARCHED_LEVELS), options);
  } as typeof child;
  return Object.assign(logger, { child: searched });
}

/** Standard output. If its disk is full or its reader has stopped, the program continues and reports this only once. */
function standardOutput(): DestinationStream {
  let flushing = false;
  let isReported = false;
  const output = pino.destination({
    dest: 1,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => !flushing,
  });
  output.on('error', (error: Error) => {
    if (isReported) return;
    isReported = true;
    try {
      writeSync(2, `The log cannot be written (${error.message}); lines of it are lost.\n`);
    } catch {
      // Ignored, because standard error may be on the same full disk.
    }
  });
  const { flushSync } = output;
  output.flushSync = () => {
    flushing = true;
    try {
      flushSync.call(output);
    } catch {
      // Errors are ignored, because at the exit the disk may still be full, or the reader may have stopped.
    } finally {
      flushing = false;
    }
  };
  return output;
}

/** A logger without output, for commands that print their results, and for tests. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

/** Whether the package for readable lines is installed. The packed agent does not contain it. */
function hasPrettyLines(): boolean {
  try {
    createRequire(import.meta.url).resolve('pino-pretty');
    return true;
  } catch {
    return false;
  }
}

/** @returns the same object if nothing must be redacted, which is the usual case */
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

/**
 * Other objects are not searched: errors have a serializer, byte arrays have no field names, and objects with toJSON
 * define their own output.
 */
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
 * Type, code, message and stack of an error. Other fields are omitted, because database errors contain values of the
 * failed row.
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
