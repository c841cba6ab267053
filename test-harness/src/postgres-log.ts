/** Most reports that are kept, and characters of each. */
const MAX_REPORTS = 20;
const MAX_REPORT_LENGTH = 8_000;
const MAX_LINE_LENGTH = 20_000;

/** What the servers of the tests begin each line of their log with: time, process and database. */
export const LOG_LINE_PREFIX = '%m [%p] %d ';

const START_OF_ENTRY = /^\S+ \S+ \S+ \[(\d+)\] \S* ?(ERROR|FATAL|LOG|WARNING|NOTICE|PANIC|INFO):/;
const REST_OF_ENTRY = /^\S+ \S+ \S+ \[(\d+)\] \S* ?(DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):/;
const DEADLOCK = /ERROR: {2}deadlock detected/;

/**
 * Finds deadlocks in the log of a Postgres server, which comes in pieces of any size. Each report has both statements:
 * the server tells them in DETAIL.
 */
export class DeadlockReader {
  readonly reports: string[] = [];
  #rest = '';
  /** Index of the report that a server process is writing, by its id. */
  readonly #open = new Map<string, number>();
  /** Whose entry a line without a prefix goes on with. */
  #last: string | null = null;

  read(piece: string): void {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-MAX_LINE_LENGTH);
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    const start = START_OF_ENTRY.exec(line);
    const pid = (start ?? REST_OF_ENTRY.exec(line))?.[1] ?? this.#last;
    this.#last = pid;
    if (pid === null) return;
    if (start !== null) this.#open.delete(pid);
    if (DEADLOCK.test(line) && this.reports.length < MAX_REPORTS) {
      this.#open.set(pid, this.reports.length);
      this.reports.push('');
    }
    const at = this.#open.get(pid);
    if (at !== undefined) this.reports[at] = `${this.reports[at]}${line}\n`.slice(0, MAX_REPORT_LENGTH);
  }
}

/** The server logged deadlocks; the message holds each with its statements. */
export class DeadlocksLogged extends Error {
  constructor(reports: readonly string[]) {
    super(`Postgres logged ${reports.length} deadlock(s):\n\n${reports.join('\n')}`);
    this.name = 'DeadlocksLogged';
  }
}
