import { type Clock, errorText, type Logger, type LogLevel } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';

/**
 * Number of kept lines: the number that a capture can request. Longest line: four times the usual length. Chosen, not
 * measured.
 */
const MAX_LINES = 1_000;
const MAX_LINE_BYTES = 1_024;

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const satisfies readonly LogLevel[];

/** The agent's newest log lines about one session, for captures. Lines below the configured log level are not kept. */
export class SessionLog {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #lines: string[] = [];

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Returns a logger that also stores its lines here. */
  keep(logger: Logger): Logger {
    const kept = Object.fromEntries(
      LEVELS.map((level) => [
        level,
        (fields: object, event: Parameters<Logger[LogLevel]>[1]) => {
          if (logger.isLevelEnabled(level)) this.#add(level, event, fields);
          logger[level](fields, event);
        },
      ]),
    ) as Pick<Logger, LogLevel>;
    return {
      ...kept,
      child: (bindings) => this.keep(logger.child(bindings)),
      isLevelEnabled: (level) => logger.isLevelEnabled(level),
    };
  }

  /** The newest lines, oldest first. */
  tail(lines: number): string[] {
    return this.#lines.slice(-lines);
  }

  #add(level: LogLevel, event: string, fields: object): void {
    const at = new Date(this.#clock.nowMs()).toISOString();
    const shown = JSON.stringify(fields, (_key, value) =>
      value instanceof Error ? errorText(value) : value,
    );
    this.#lines.push(cutUtf8(`${at} ${level} ${event} ${shown}`, MAX_LINE_BYTES));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}
