import type { ImageState, SessionState, SessionTraceEvent } from '@footlight/protocol/agent';

type WithoutSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;
/** Report without its number. */
export type Report = WithoutSeq<SessionState> | WithoutSeq<SessionTraceEvent> | WithoutSeq<ImageState>;
export type NumberedReport = SessionState | ((SessionTraceEvent | ImageState) & { seq: number });

/**
 * Numbered, unconfirmed reports. Numbers belong to one agent process: after a crash they start at 1 again.
 * Unlike a real agent's queue this queue has no limit, so drills detect losses elsewhere.
 */
export class UnseenReports {
  #nextSeq = 1;
  #unseen: NumberedReport[] = [];

  get count(): number {
    return this.#unseen.length;
  }

  number(report: Report): NumberedReport {
    const numbered = { ...report, seq: this.#nextSeq } as NumberedReport;
    this.#nextSeq += 1;
    this.#unseen.push(numbered);
    return numbered;
  }

  /** Removes all reports up to `seq`. */
  seen(seq: number): void {
    this.#unseen = this.#unseen.filter((report) => report.seq > seq);
  }

  /** Reports to send again, in order. */
  get unseen(): readonly NumberedReport[] {
    return this.#unseen;
  }
}
