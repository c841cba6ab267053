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
  /** Session id → number of its newest applied state report, oldest first; null: none yet, as on most hosts. */
  #newestState: Map<string, number> | null = null;

  /** @param last highest report that a former process of the control plane handled; null: unknown */
  constructor(bootId: string, last: number | null) {
    this.bootId = bootId;
    this.#last = last;
    this.#floor = last ?? 0;
  }

  /** What `registered` and `seen` say. */
  get last(): number | null {
    return this.#last;
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

  /** Notes that a report was handled (or dropped for good). */
  handled(seq: number): void {
    this.#handled ??= new Set();
    this.#handled.add(seq);
    if (seq > (this.#last ?? 0)) this.#last = seq;
    if (this.#handled.size > REMEMBERED) {
      const oldest = this.#handled.values().next().value as number;
      this.#handled.delete(oldest);
      this.#floor = Math.max(this.#floor, oldest);
    }
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
