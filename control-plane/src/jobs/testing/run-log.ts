/**
 * Log of all changes of runs, written by a Postgres trigger. Reading the rows from time to time could miss changes. The
 * changes of one target are in order, because its runs wait for each other at the unique index of open runs.
 */

/**
 * Statements that start the log. The column `lease` is consistent, because a transaction that changes a run of the
 * dispatcher has locked the row of the lease.
 */
export const LOG_RUNS = `
  create table run_log (
    seq bigserial primary key, op text, id text, job_id text, host_id text, state text, attempt int,
    claimed_at bigint, fence bigint, lease bigint, error text
  );
  create function log_run() returns trigger language plpgsql as $$
  declare
    run job_runs := coalesce(new, old);
  begin
    insert into run_log (op, id, job_id, host_id, state, attempt, claimed_at, fence, lease, error) values (
      tg_op, run.id, run.job_id, run.host_id, run.state, run.attempt, run.claimed_at, run.fence,
      (select fence from leases where name = 'jobs.dispatch'), run.error
    );
    return null;
  end $$;
  create trigger log_run after insert or update or delete on job_runs for each row execute function log_run();`;

export interface RunChange {
  op: 'INSERT' | 'UPDATE' | 'DELETE';
  id: string;
  job_id: string;
  host_id: string | null;
  state: string;
  attempt: number;
  /** null: the run is not claimed. */
  claimed_at: string | null;
  /**
   * Fencing number of the dispatcher that claimed the run; null: no dispatcher did. `lease`: number of the lease at the
   * change.
   */
  fence: string | null;
  lease: string | null;
  error: string | null;
}

const OPEN = ['pending', 'running'];

/**
 * Finds forbidden changes: two open runs of a target, a run that is claimed twice or changes after its end, a lost or
 * duplicate retry, and a write of a dispatcher that lost its lease.
 * @param changes all changes of one database, in order
 * @returns one text per violation
 */
export function findViolations(changes: readonly RunChange[]): string[] {
  const violations: string[] = [];
  const states = new Map<string, string>();
  const claims = new Map<string, string>();
  const open = new Map<string, Set<string>>();
  /** Attempt number of the retry that must follow, by target. */
  const retries = new Map<string, number>();
  for (const [n, change] of changes.entries()) {
    const { op, id, state, attempt, fence, lease, error } = change;
    const target = `${change.job_id} ${change.host_id ?? ''}`;
    const wrong = (what: string) => violations.push(`${what}: change ${n}, run ${id} of ${target}`);
    const before = states.get(id);
    const opened = open.get(target) ?? new Set();
    open.set(target, opened);
    if (op === 'DELETE') {
      if (before === 'running') wrong('a running run is deleted');
      if (before === 'pending' && attempt > 1) wrong('a retry is deleted');
      opened.delete(id);
      states.delete(id);
      continue;
    }
    states.set(id, state);
    if (op === 'INSERT') {
      if (state !== 'pending') wrong(`begins as ${state}`);
      if (attempt !== (retries.get(target) ?? 1)) wrong(`begins with attempt ${attempt}`);
      retries.delete(target);
      opened.add(id);
      if (opened.size > 1) wrong('a second open run');
      continue;
    }
    if (before === undefined || !OPEN.includes(before)) wrong(`${before} becomes ${state}`);
    else if (before === 'running' && state === 'pending') wrong('a claim is taken back');
    else if (before === 'pending' && !OPEN.includes(state)) wrong(`ends as ${state} without a claim`);
    if (change.claimed_at !== null) {
      if ((claims.get(id) ?? change.claimed_at) !== change.claimed_at) wrong('a second claim');
      claims.set(id, change.claimed_at);
    }
    if (OPEN.includes(state)) {
      if (before === 'pending' && state === 'running' && fence !== null && fence !== lease)
        wrong('a claim with an old number');
      continue;
    }
    opened.delete(id);
    if (state === 'deferred') retries.set(target, attempt + 1);
    if (fence === null) continue;
    if (state !== 'aborted' && fence !== lease) wrong('a late end');
    if (error === 'dispatcher went away' && fence === lease) wrong('a run of the dispatcher is reaped');
  }
  for (const target of retries.keys()) violations.push(`a retry is lost: ${target}`);
  return violations;
}
