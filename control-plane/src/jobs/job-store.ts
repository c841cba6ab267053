import type { Executor, Tx } from '../platform/database/index.ts';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import { RECORD_COLUMNS, type RecordedRun } from './record.ts';

export function listJobs(db: Executor): Promise<JobsTable[]> {
  return db.selectFrom('jobs').selectAll().orderBy('id').execute();
}

export function findJob(db: Executor, id: string): Promise<JobsTable | undefined> {
  return db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Reads a job and locks its row until the transaction ends. */
export function lockJob(tx: Tx, id: string): Promise<JobsTable | undefined> {
  return tx.selectFrom('jobs').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

/** Reads all jobs and locks them against changes until the transaction ends. */
export function holdJobs(tx: Tx): Promise<JobsTable[]> {
  return tx.selectFrom('jobs').selectAll().orderBy('id').forShare().execute();
}

export async function updateJob(tx: Tx, id: string, columns: Partial<Omit<JobsTable, 'id'>>): Promise<void> {
  await tx.updateTable('jobs').set(columns).where('id', '=', id).execute();
}

/** Columns whose values the code defines; administrators set the other columns. */
const CODE_COLUMNS = ['name', 'description', 'plane', 'scope', 'managed', 'schedule_kind'] as const;

/**
 * Updates the stored jobs from the code. New jobs get their default values, and known jobs get the values of
 * CODE_COLUMNS. Jobs that the code no longer defines are deleted with their runs.
 */
export async function syncJobs(tx: Tx, rows: readonly JobsTable[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await tx.deleteFrom('jobs').where('id', 'not in', ids).execute();
  await tx
    .insertInto('jobs')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((row) =>
          Object.fromEntries(CODE_COLUMNS.map((column) => [column, row.ref(`excluded.${column}`)])),
        ),
    )
    .execute();
}

/** Hosts without an open run of a job, each with the end of its last run. */
export async function listIdleHosts(
  db: Executor,
  jobId: string,
): Promise<{ host_id: string; last_end: number | null }[]> {
  return db
    .selectFrom('hosts')
    .select((host) => [
      'hosts.id as host_id',
      host
        .selectFrom('job_runs')
        .select((run) => run.fn.max('job_runs.finished_at').as('end'))
        .whereRef('job_runs.host_id', '=', 'hosts.id')
        .where('job_runs.job_id', '=', jobId)
        .as('last_end'),
    ])
    .where((host) =>
      host.not(
        host.exists(
          host
            .selectFrom('job_runs')
            .select('job_runs.id')
            .whereRef('job_runs.host_id', '=', 'hosts.id')
            .where('job_runs.job_id', '=', jobId)
            .where('job_runs.state', 'in', ['pending', 'running']),
        ),
      ),
    )
    .execute();
}

/** End of the last run of an instance job; null: no run is stored. */
export async function lastEnd(db: Executor, jobId: string): Promise<number | null> {
  const row = await db
    .selectFrom('job_runs')
    .select((run) => run.fn.max('finished_at').as('end'))
    .where('job_id', '=', jobId)
    .where('host_id', 'is', null)
    .executeTakeFirst();
  return row?.end ?? null;
}

export async function isHost(db: Executor, id: string): Promise<boolean> {
  return (await db.selectFrom('hosts').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/** All hosts sorted by name, each with the last ended run of the job on that host. */
export async function listTargets(
  db: Executor,
  jobId: string,
): Promise<{ host_id: string; node_name: string; last_run: RecordedRun | null }[]> {
  const rows = await db
    .selectFrom('hosts')
    .leftJoin('job_runs', (join) =>
      join.on((on) =>
        on(
          'job_runs.id',
          '=',
          on
            .selectFrom('job_runs as last')
            .select('last.id')
            .whereRef('last.host_id', '=', 'hosts.id')
            .where('last.job_id', '=', jobId)
            .where('last.finished_at', 'is not', null)
            .orderBy('last.created_at', 'desc')
            .orderBy('last.id', 'desc')
            .limit(1),
        ),
      ),
    )
    .select(['hosts.id as target_id', 'hosts.node_name'])
    .select(RECORD_COLUMNS.map((column) => `job_runs.${column}` as const))
    .orderBy('hosts.node_name')
    .execute();
  return rows.map(({ target_id, node_name, ...run }) => ({
    host_id: target_id,
    node_name,
    last_run: run.id === null ? null : (run as RecordedRun),
  }));
}
