import { type Clock, type Logger, type LogLevel, MINUTE_MS, WindowCounter } from '@footlight/platform';
import type { LogEvent } from '@footlight/protocol/telemetry';
import { LimiterKeys, LOG_LINES_PER_MINUTE } from '../../platform/limits.ts';

/**
 * Rate-limits the log lines of each host; otherwise a host that reconnects and fails in a loop could fill the disk.
 * Lines beyond the limit have the level debug.
 */
export class HostLog {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #hosts = new LimiterKeys<WindowCounter>((lines, nowMs) => lines.isFull(nowMs));

  constructor(logger: Logger, clock: Pick<Clock, 'monotonicMs'>) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param host the host's id, or its name while the id is not known yet */
  line(level: LogLevel, host: string, fields: object, event: LogEvent): void {
    const nowMs = this.#clock.monotonicMs();
    const lines = this.#hosts.get(host, nowMs) ?? new WindowCounter(LOG_LINES_PER_MINUTE, MINUTE_MS);
    if (!lines.take(nowMs)) {
      this.#logger.debug(fields, event);
      return;
    }
    this.#hosts.set(host, lines, nowMs);
    this.#logger[level](fields, event);
    if (lines.isFull(nowMs)) this.#logger.warn({ host }, 'agent.lines_left_out');
  }
}
