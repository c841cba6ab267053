import type { SessionState, SessionTraceEvent } from '@footlight/protocol/agent';

type WithoutSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;
/** A report before it gets its number. */
export type Report = WithoutSeq<SessionState> | WithoutSeq<SessionTraceEvent>;
export type NumberedReport = SessionState | (SessionTraceEvent & { seq: number });

/**
 * Numbered reports that were not confirmed yet. Numbers belong to one agent process: a crash starts at 1 again.
 * Without a bound, unlike a real agent: drills want to find out what gets lost, not to lose it here.
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

  /** Everything up to `seq` was handled. */
  seen(seq: number): void {
    this.#unseen = this.#unseen.filter((report) => report.seq > seq);
  }

  /** To be sent again, in order. */
  get unseen(): readonly NumberedReport[] {
    return this.#unseen;
  }
}
