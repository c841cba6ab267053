/** Queries of ended runs, for the administrators' pages and for deletion. */
import { type SqlBool, sql } from 'kysely';
import type { Executor, Tx } from '../platform/database/index.ts';
import { isAfter, type PageKey } from '../platform/page-cursor.ts';
import { RECORD_COLUMNS, type RecordedRun } from './record.ts';
import { isTarget, type Target } from './run-store.ts';

/** The last ended run of a job that runs for the whole instance. */
export function findLastRun(db: Executor, jobId: string): Promise<RecordedRun | undefined> {
  return db
    .selectFrom('job_runs')
    .select(RECORD_COLUMNS)
    .where('host_id', 'is', null)
    .where('job_id', '=', jobId)
    .where('finished_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Counts failed and aborted runs of an instance job since its last run that succeeded. */
export async function countFailures(db: Executor, jobId: string): Promise<number> {
  const { count } = await db
    .selectFrom('job_runs')
    .select((run) => run.fn.countAll<number>().as('count'))
    .where('host_id', 'is', null)
    .where('job_id', '=', jobId)
    .where('state', 'in', ['failed', 'aborted'])
    .where('finished_at', '>', (run) =>
      run
        .selectFrom('job_runs as succeeded')
        .select((last) => last.fn.coalesce(last.fn.max('succeeded.finished_at'), last.val(-1)).as('at'))
        .where('succeeded.host_id', 'is', null)
        .where('succeeded.job_id', '=', jobId)
        .where('succeeded.state', '=', 'succeeded'),
    )
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Runs of a job, newest first. One extra row shows that another page exists. */
export function listRuns(
  db: Executor,
  {
    jobId,
    hostId,
    limit,
    after,
  }: { jobId: string; hostId: string | null; limit: number; after: PageKey | null },
): Promise<RecordedRun[]> {
  let query = db.selectFrom('job_runs').select(RECORD_COLUMNS).where('job_id', '=', jobId);
  if (hostId !== null) query = query.where('host_id', '=', hostId);
  if (after !== null) query = query.where(isAfter('job_runs', after));
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

export interface KeptRuns {
  /** Number of newest ended runs that each target keeps. */
  keep: number;
  /** Runs that ended before this time are deleted; null: no run is deleted because of its age. */
  endedBeforeMs: number | null;
  /** Whether the last run of each target stays, even if it is too old. */
  keepLast: boolean;
}

/** Deletes ended runs of a job. @param target null: runs of all targets */
export async function deleteOldRuns(
  tx: Tx,
  jobId: string,
  target: Target | null,
  { keep, endedBeforeMs, keepLast }: KeptRuns,
): Promise<void> {
  const which = target === null ? sql<SqlBool>`job_id = ${jobId}` : isTarget(target);
  const old = sql<SqlBool>`finished_at < ${endedBeforeMs ?? 0} and newness > ${keepLast ? 1 : 0}`;
  await sql`delete from job_runs where id in (
    select id from (
      select id, finished_at, row_number() over (partition by host_id order by created_at desc, id desc) as newness
      from job_runs where ${which} and finished_at is not null
    ) as ended where newness > ${keep} or (${old})
  )`.execute(tx);
}

/**
 * Corrects ended runs with times in the future: an end after now becomes now, and every other time of the run that is
 * after this end becomes this end. Otherwise such runs would stay the newest ones until those times.
 */
export async function capEndedRuns(
  tx: Tx,
  { nowMs, aheadMs }: { nowMs: number; aheadMs: number },
): Promise<void> {
  const end = sql`case when finished_at > ${nowMs} then ${nowMs} else finished_at end`;
  const columns = ['scheduled_for', 'claimed_at', 'started_at', 'finished_at', 'created_at'].map((name) => {
    const column = sql.ref(name);
    return sql`${column} = case when ${column} > ${end} then ${end} else ${column} end`;
  });
  await sql`update job_runs set ${sql.join(columns)}
    where finished_at is not null and (finished_at > ${nowMs + aheadMs} or created_at > ${nowMs + aheadMs})`.execute(
    tx,
  );
}
