/** Reports remembered by number, so that a repeat is recognised; the agent's own backlog holds no more. */
const REMEMBERED = 2_048;
/** Sessions whose newest state report is remembered; a host holds no more. */
const SESSIONS = 1_024;

/**
 * What to do with a reliable report.
 * new: handle it. late: a newer one came first (something between the ends changed the order), handle it unless a
 * newer state of the same session was applied. repeat: it was handled, only confirm it again.
 */
export type Arrival = 'new' | 'late' | 'repeat';

/**
 * Numbers of the reliable reports of one agent process. They start at 1 and grow by one; the agent sends again what
 * was not confirmed, so repeats are normal and gaps stand for what its bounded backlog dropped.
 *
 * One object per host and boot: it outlives connections, because a report may be handled on the old one and repeated
 * on the new one.
 */
export class ReportSequence {
  readonly bootId: string;
  /** Everything up to it counts as handled; null: nothing. */
  #last: number | null;
  /** At or below it nothing is remembered one by one. */
  #floor: number;
  #handled: Set<number> | null = null;
  /** Numbers of reports that came and are not stored → whether a write of them is under way. null: none, as mostly. */
  #unstored: Map<number, boolean> | null = null;
  /** Session id → number of its newest applied state report, oldest first; null: none yet, as on most hosts. */
  #newestState: Map<string, number> | null = null;

  /** @param last highest report that a former process of the control plane handled; null: unknown */
  constructor(bootId: string, last: number | null) {
    this.bootId = bootId;
    this.#last = last;
    this.#floor = last ?? 0;
  }

  /** What `registered` and `seen` say: everything up to it is handled, and stored where it has to be. */
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

  /** Those that were not handled yet, each number once. What has no number is never a repeat. */
  unhandled<Report extends { seq?: number | undefined }>(reports: readonly Report[]): Report[] {
    const seqs = new Set<number>();
    return reports.filter(({ seq }) => {
      if (seq === undefined) return true;
      if (seqs.has(seq) || this.classify(seq) === 'repeat') return false;
      seqs.add(seq);
      return true;
    });
  }

  /** Notes that a report came whose write takes its time; nothing from it on is confirmed until it is handled. */
  beginStoring(seq: number): void {
    this.#unstored ??= new Map();
    this.#unstored.set(seq, true);
  }

  /** Notes that a report was not stored: the agent sends it again on its next connection, unless it has dropped it. */
  notStored(seq: number): void {
    if (this.#unstored?.has(seq)) this.#unstored.set(seq, false);
  }

  /** Notes the lowest number of what the agent sends; it sends in order, so it has nothing below that any more. */
  sendsFrom(seq: number): void {
    for (const [known, isWriting] of this.#unstored ?? [])
      if (known < seq && !isWriting) this.#forgetUnstored(known);
  }

  /** Notes that a report was handled (or dropped for good). */
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
   * Whether a state report is the newest of its session; if so it is remembered as such.
   * An older one must not overwrite what a newer one said.
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
