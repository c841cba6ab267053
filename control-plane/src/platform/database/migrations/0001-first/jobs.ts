import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** Background jobs and their runs. The rows of jobs are updated from the code at each start. */
export async function createJobs(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('jobs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('plane', 'text', (c) => c.notNull().check(sql`plane in ('control', 'agent')`))
    .addColumn('scope', 'text', (c) => c.notNull().check(sql`scope in ('instance', 'host')`))
    .addColumn('managed', 'integer', (c) => c.notNull())
    .addColumn('schedule_kind', 'text', (c) =>
      c.notNull().check(sql`schedule_kind in ('interval', 'event', 'manual')`),
    )
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('interval_secs', 'integer')
    .addColumn('window_start', 'text')
    .addColumn('window_end', 'text')
    .addColumn('window_days', 'text', (c) => c.notNull())
    .addColumn('timezone', 'text', (c) => c.notNull())
    .addColumn('history_limit', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addCheckConstraint('jobs_window', sql`(window_start is null) = (window_end is null)`)
    .execute();

  await db.schema
    .createTable('job_runs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('job_id', 'text', (c) => c.notNull().references('jobs.id').onDelete('cascade'))
    .addColumn('host_id', 'text', (c) => c.references('hosts.id').onDelete('cascade'))
    .addColumn('state', 'text', (c) =>
      c
        .notNull()
        .check(sql`state in ('pending', 'running', 'succeeded', 'failed', 'deferred', 'skipped', 'aborted')`),
    )
    .addColumn('trigger', 'text', (c) => c.notNull().check(sql`"trigger" in ('schedule', 'manual', 'event')`))
    .addColumn('actor_user_id', 'text', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('attempt', 'integer', (c) => c.notNull().check(sql`attempt >= 1`))
    .addColumn('scheduled_for', 'bigint', (c) => c.notNull())
    .addColumn('claimed_at', 'bigint')
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('params', 'text', (c) => c.notNull())
    .addColumn('summary', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('claimed_boot', 'text')
    .addColumn('fence', 'bigint')
    .addColumn('rerun', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  // Unique index: a target has at most one open run of a job. coalesce is needed because null values do not count as
  // equal.
  await sql`create unique index job_runs_open on job_runs (job_id, coalesce(host_id, ''))
    where state in ('pending', 'running')`.execute(db);
  // Partial index for claims by hosts and the dispatcher, and for the claim reaper; there are few open runs.
  await sql`create index job_runs_due on job_runs (host_id, scheduled_for)
    where state in ('pending', 'running')`.execute(db);
  // Index for the history and the last run of a target, and for the deletion of a host.
  await db.schema
    .createIndex('job_runs_by_target')
    .on('job_runs')
    .columns(['host_id', 'job_id', 'created_at', 'id'])
    .execute();
  // Index for the history of a job, newest first.
  await db.schema
    .createIndex('job_runs_by_job')
    .on('job_runs')
    .columns(['job_id', 'created_at', 'id'])
    .execute();
  // Partial index for the deletion of an account; few runs were started manually.
  await sql`create index job_runs_by_actor on job_runs (actor_user_id)
    where actor_user_id is not null`.execute(db);
}
