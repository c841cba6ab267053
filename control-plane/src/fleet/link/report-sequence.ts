/** Maximum remembered report numbers; the agent's own backlog is not larger. */
const REMEMBERED = 2_048;
/** Maximum sessions whose newest report number is remembered; a host does not have more. */
const SESSIONS = 1_024;

/**
 * What to do with a reliable report. new: handle it. late: a report with a higher number arrived first; handle it,
 * unless a newer state of the same session is already applied. repeat: it was handled before; only confirm it again.
 */
export type Arrival = 'new' | 'late' | 'repeat';

/**
 * Numbers of the reliable reports of one agent process. They start at 1 and grow by one. The agent repeats unconfirmed
 * reports, so repeats are normal. A gap in the numbers means that the agent's bounded backlog dropped reports.
 *
 * There is one object per host and agent process. It outlives connections, because a report may be handled on an old
 * connection and repeated on a new one.
 */
export class ReportSequence {
  readonly bootId: string;
  /** Every number up to this one is handled; null: no report was handled. */
  #last: number | null;
  /** Numbers up to this one are not remembered individually. */
  #floor: number;
  #handled: Set<number> | null = null;
  /** Arrived but unstored reports → whether a write is running. null: no such report, which is the usual state. */
  #unstored: Map<number, boolean> | null = null;
  /** Session id → number of its newest applied state report, oldest first; null: no state report was applied. */
  #newestState: Map<string, number> | null = null;

  /** @param last highest number that a former control plane process handled; null: unknown */
  constructor(bootId: string, last: number | null) {
    this.bootId = bootId;
    this.#last = last;
    this.#floor = last ?? 0;
  }

  /** The number that `registered` and `seen` report to the agent: all reports up to it are handled and stored. */
  get last(): number | null {
    if (this.#last === null || this.#unstored === null) return this.#last;
    const last = Math.min(this.#last, ...[...this.#unstored.keys()].map((seq) => seq - 1));
    return last > 0 ? last : null;
  }

  classify(seq: number): Arrival {
    if (seq > (this.#last ?? 0)) return 'new';
    if (seq <= this.#floor || this.#handled?.has(seq)) return 'repeat';
    return 'late';
  }

  /**
   * The reports that were not handled yet; of two with the same number only the first. Reports without a number are
   * never repeats.
   */
  unhandled<Report extends { seq?: number | undefined }>(reports: readonly Report[]): Report[] {
    const seqs = new Set<number>();
    return reports.filter(({ seq }) => {
      if (seq === undefined) return true;
      if (seqs.has(seq) || this.classify(seq) === 'repeat') return false;
      seqs.add(seq);
      return true;
    });
  }

  /**
   * Marks a report whose write is running; this number and higher ones are not confirmed until the report is handled.
   */
  beginWrite(seq: number): void {
    this.#unstored ??= new Map();
    this.#unstored.set(seq, true);
  }

  /** Marks a report whose write failed; the agent repeats it on its next connection, unless it was dropped. */
  notStored(seq: number): void {
    if (this.#unstored?.has(seq)) this.#unstored.set(seq, false);
  }

  /**
   * Stores the lowest number that the agent still sends. The agent sends in order, so it has dropped all lower numbers.
   */
  sendsFrom(seq: number): void {
    for (const [known, isWriting] of this.#unstored ?? [])
      if (known < seq && !isWriting) this.#forgetUnstored(known);
  }

  /** Marks a report as handled or finally dropped. */
  handled(seq: number): void {
    this.#forgetUnstored(seq);
    this.#handled ??= new Set();
    this.#handled.add(seq);
    if (seq > (this.#last ?? 0)) this.#last = seq;
    if (this.#handled.size > REMEMBERED) {
      const oldest = this.#handled.values().next().value as number;
      this.#handled.delete(oldest);
      this.#floor = Math.max(this.#floor, oldest);
    }
  }

  #forgetUnstored(seq: number): void {
    this.#unstored?.delete(seq);
    if (this.#unstored?.size === 0) this.#unstored = null;
  }

  /**
   * Whether a state report is the newest of its session. The newest number is remembered. An older report must not
   * overwrite a newer one.
   */
  isNewestState(sessionId: string, seq: number): boolean {
    this.#newestState ??= new Map();
    const known = this.#newestState.get(sessionId);
    if (known !== undefined && seq < known) return false;
    this.#newestState.delete(sessionId);
    this.#newestState.set(sessionId, seq);
    if (this.#newestState.size > SESSIONS) {
      const oldest = this.#newestState.keys().next().value as string;
      this.#newestState.delete(oldest);
    }
    return true;
  }
}
