import { type Clock, type Logger, MINUTE_MS, WindowCounter } from '@footlight/platform';
import { LimiterKeys } from '../../platform/limits.ts';

/** Of one host, whatever they say. A host that comes back again and again as it should takes 45. */
const LINES_PER_MINUTE = 120;

type Fields = Record<string, unknown>;
type Level = 'info' | 'warn' | 'error';

/**
 * The log of what single hosts do, bounded for each of them: a host that connects, says something wrong and leaves as
 * fast as it can would fill the disk. Lines beyond the bound have the level debug.
 */
export class HostLog {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #hosts = new LimiterKeys<WindowCounter>((lines, nowMs) => lines.isFull(nowMs));

  constructor(logger: Logger, clock: Pick<Clock, 'monotonicMs'>) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param host id, or name where the id is not known yet */
  line(level: Level, host: string, fields: Fields, event: string): void {
    const nowMs = this.#clock.monotonicMs();
    const lines = this.#hosts.get(host, nowMs) ?? new WindowCounter(LINES_PER_MINUTE, MINUTE_MS);
    if (lines.isFull(nowMs)) {
      this.#logger.debug(fields, event);
      return;
    }
    lines.add(nowMs);
    this.#hosts.set(host, lines, nowMs);
    this.#logger[level](fields, event);
    if (lines.isFull(nowMs)) this.#logger.warn({ host }, 'agent.lines_left_out');
  }
}
