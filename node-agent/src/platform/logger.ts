import { createRequire } from 'node:module';
import { type Logger, pino } from 'pino';

export type { Logger };

/** Fields that are removed wherever they stand, so that a careless log call cannot leak a credential. */
const SECRET_FIELDS = ['authorization', 'node_secret', 'token', 'secret', 'credential', 'password', 'cookie'];

/**
 * The agent's log: one JSON object a line on stdout, an event name plus fields, in the form of the control plane's;
 * readable lines on a terminal.
 *
 * @param level one of pino's level names
 */
export function createLogger(level: string): Logger {
  const redact = {
    paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
    censor: '[redacted]',
  };
  const options = {
    level,
    redact,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  if (!process.stdout.isTTY || !hasPrettyLines()) {
    return pino(
      { ...options, formatters: { level: (label) => ({ level: label }) } },
      pino.destination({ dest: 1, sync: false }),
    );
  }
  return pino({ ...options, transport: { target: 'pino-pretty', options: { messageKey: 'event' } } });
}

/** The agent that other hosts install comes without the package that makes lines readable. */
function hasPrettyLines(): boolean {
  try {
    createRequire(import.meta.url).resolve('pino-pretty');
    return true;
  } catch {
    return false;
  }
}

export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
