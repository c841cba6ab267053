/** Maximum number of reports, and of characters per report. */
const MAX_REPORTS = 20;
const MAX_REPORT_LENGTH = 8_000;
const MAX_LINE_LENGTH = 20_000;

/** log_line_prefix of the test servers: time, process id and database. */
export const LOG_LINE_PREFIX = '%m [%p] %d ';

const START_OF_ENTRY = /^\S+ \S+ \S+ \[(\d+)\] \S* ?(ERROR|FATAL|LOG|WARNING|NOTICE|PANIC|INFO):/;
const REST_OF_ENTRY = /^\S+ \S+ \S+ \[(\d+)\] \S* ?(DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):/;
const DEADLOCK = /ERROR: {2}deadlock detected/;

/**
 * Finds deadlocks in the log of a Postgres server; chunks may have any size. Each report contains the two statements,
 * which Postgres writes as DETAIL.
 */
export class DeadlockReader {
  readonly reports: string[] = [];
  #rest = '';
  /** Index of each server process's unfinished report, by process id. */
  readonly #open = new Map<string, number>();
  /** Process id of the entry that a line without a prefix continues. */
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

/** Error with the deadlocks in the server's log and their statements. */
export class DeadlocksLogged extends Error {
  constructor(reports: readonly string[]) {
    super(`Postgres logged ${reports.length} deadlock(s):\n\n${reports.join('\n')}`);
    this.name = 'DeadlocksLogged';
  }
}
