import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** Background jobs and their runs. The rows of jobs are written at each start, from the code. */
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
  // One open run of a job for each target, whatever its writers do. Null values would not count as equal.
  await sql`create unique index job_runs_open on job_runs (job_id, coalesce(host_id, ''))
    where state in ('pending', 'running')`.execute(db);
  // For claims by a host and by the dispatcher, and for the claim reaper: open runs are few.
  await sql`create index job_runs_due on job_runs (host_id, scheduled_for)
    where state in ('pending', 'running')`.execute(db);
  // The history and the last run of a target, and the deletion of a host.
  await db.schema
    .createIndex('job_runs_by_target')
    .on('job_runs')
    .columns(['host_id', 'job_id', 'created_at', 'id'])
    .execute();
  // The history of a job, newest first.
  await db.schema
    .createIndex('job_runs_by_job')
    .on('job_runs')
    .columns(['job_id', 'created_at', 'id'])
    .execute();
  // For the deletion of an account. Few runs were started by hand.
  await sql`create index job_runs_by_actor on job_runs (actor_user_id)
    where actor_user_id is not null`.execute(db);
}
