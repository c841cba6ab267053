import { type Clock, type Logger, plainText } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import type { SessionState } from '@footlight/protocol/agent';
import type { Ending } from '../life/state.ts';
import type { SessionLink } from './session-link.ts';

/** Data of an ended session's final report. */
export interface Remains {
  /** Last lines of the app's output; "": no output. */
  logTail: string;
  /** Size of the home in bytes; null: there is no home, or its size is unknown. */
  homeBytes: number | null;
}

/** Reports of one session's state, in the order of the calls. The last call is end(). */
export class SessionReports {
  readonly #sessionId: string;
  readonly #link: Pick<SessionLink, 'report'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #silent = false;
  #lastSeq = 0;

  constructor(sessionId: string, link: Pick<SessionLink, 'report'>, clock: Clock, logger: Logger) {
    this.#sessionId = sessionId;
    this.#link = link;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Number of the newest report. When the control plane has processed this report, an ended session may be removed from
   * memory.
   */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Stops sending reports, because this agent restarts and the next process reports the session's end. */
  silence(): void {
    this.#silent = true;
  }

  send(fields: Omit<SessionState, 'type' | 'seq' | 'session_id' | 'ts'>): void {
    if (this.#silent) return;
    this.#lastSeq = this.#link.report({
      type: 'session_state',
      session_id: this.#sessionId,
      ts: this.#clock.nowMs(),
      ...fields,
    });
  }

  /** @param error null: the swap succeeded */
  swap(app_id: string, error: string | null): void {
    const swap: SessionState['swap'] =
      error === null
        ? { app_id, result: 'complete' }
        : { app_id, result: 'rolled_back', error: cutUtf8(plainText(error), 256) };
    this.send({ state: 'running', swap });
  }

  end(ending: Ending, { logTail, homeBytes }: Remains): void {
    const tail = logTail === '' ? {} : { app_log_tail: logTail };
    const size = homeBytes === null ? {} : { home_bytes: homeBytes };
    if (ending.state === 'failed') {
      const { failure_code } = ending;
      this.#logger.warn({ failure_code, error: ending.error }, 'session.failed');
      this.send({
        state: 'failed',
        failure_code,
        error: cutUtf8(plainText(ending.error), 512),
        ...tail,
        ...size,
      });
    } else {
      this.#logger.info({ reason: ending.reason }, 'session.stopped');
      this.send({ state: 'stopped', reason: ending.reason, ...(ending.appLog ? tail : {}), ...size });
    }
  }
}
