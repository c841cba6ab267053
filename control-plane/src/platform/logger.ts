import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

/** Structured log: an event name plus fields, never a secret. */
export type Logger = PinoLogger;

/** Field names that never appear with their value, wherever a careless caller puts them. */
const SECRET_FIELDS = [
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
  '["x-service-setup-token"]',
  '["x-service-dev-key"]',
  '["x-service-enroll"]',
];

const under = (prefix: string, field: string): string =>
  field.startsWith('[') ? `${prefix}${field}` : `${prefix}.${field}`;

/** @param destination where lines go; standard output unless given */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [
          field,
          under('*', field),
          under('headers', field),
          under('*.headers', field),
        ]),
        censor: '[redacted]',
      },
      serializers: { err: describeError },
    },
    destination ?? pino.destination({ dest: 1, sync: false }),
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
