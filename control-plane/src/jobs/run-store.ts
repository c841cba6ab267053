import type { JobRunState } from '@footlight/protocol/rest';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Executor, Tx } from '../platform/database/index.ts';
import { values } from '../platform/database/query/values.ts';
import type { JobRunsTable } from '../platform/database/tables/jobs.ts';
import type { EndingRun, FollowingRun, OpenState, RunOfHost, Trigger } from './rules/run-life.ts';

/** The same text as in the partial indexes: SQLite uses a partial index only if the text of the condition is equal. */
const isOpen = sql<SqlBool>`state in ('pending', 'running')`;

/** A job's target: the whole instance, or one host. */
export interface Target {
  jobId: string;
  hostId: string | null;
}

/** Condition that selects the rows of a target. */
export const isTarget = ({ jobId, hostId }: Target): RawBuilder<SqlBool> =>
  hostId === null
    ? sql<SqlBool>`job_id = ${jobId} and host_id is null`
    : sql<SqlBool>`job_id = ${jobId} and host_id = ${hostId}`;

export interface OpenRun {
  id: string;
  job_id: string;
  host_id: string | null;
  state: OpenState;
  scheduled_for: number;
}

/** All open runs of instance jobs. */
export async function listOpenOfInstance(db: Executor): Promise<OpenRun[]> {
  return (await openRuns(db).where('host_id', 'is', null).execute()) as OpenRun[];
}

/** Open runs of a job, for all targets. */
export async function listOpenOfJob(db: Executor, jobId: string): Promise<OpenRun[]> {
  return (await openRuns(db).where('job_id', '=', jobId).execute()) as OpenRun[];
}

const openRuns = (db: Executor) =>
  db.selectFrom('job_runs').select(['id', 'job_id', 'host_id', 'state', 'scheduled_for']).where(isOpen);

export interface NewRun extends FollowingRun {
  id: string;
  job_id: string;
  host_id: string | null;
  created_at: number;
}

/** Maximum rows per insert. With twelve values per row it stays below the placeholder limit of both databases. */
const ROWS_AT_ONCE = 500;

/** Adds pending runs. No run is added for a target with an open run. @returns ids of the added runs */
export async function insertPending(tx: Executor, runs: readonly NewRun[]): Promise<string[]> {
  const added: string[] = [];
  for (let from = 0; from < runs.length; from += ROWS_AT_ONCE) {
    const rows = await tx
      .insertInto('job_runs')
      .values(
        runs
          .slice(from, from + ROWS_AT_ONCE)
          .map((run) => ({ ...run, state: 'pending' as const, summary: '{}' })),
      )
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .execute();
    added.push(...rows.map(({ id }) => id));
  }
  return added;
}

/**
 * Moves a pending run to an earlier time, never to a later one. @returns its id and time; undefined: the run is no
 * longer pending
 */
export function pullForward(
  tx: Executor,
  target: Target,
  pull: { trigger: Trigger; actor_user_id: string | null; scheduled_for: number },
): Promise<{ id: string; scheduled_for: number } | undefined> {
  const isLater = sql<SqlBool>`scheduled_for > ${pull.scheduled_for}`;
  // A manual run stays manual, because its deferred retries ignore the window.
  const takes = pull.trigger === 'manual' ? sql<SqlBool>`1 = 1` : isLater;
  return tx
    .updateTable('job_runs')
    .set({
      scheduled_for: sql`case when ${isLater} then ${pull.scheduled_for} else scheduled_for end`,
      trigger: sql`case when ${takes} then ${pull.trigger} else "trigger" end`,
      actor_user_id: sql`case when ${takes} then ${pull.actor_user_id} else actor_user_id end`,
    })
    .where(isOpen)
    .where(isTarget(target))
    .where('state', '=', 'pending')
    .returning(['id', 'scheduled_for'])
    .executeTakeFirst();
}

/** Latest start of the pending runs of each job, over all targets; a job without a pending run is missing. */
export async function lastPending(db: Executor): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('job_runs')
    .select((run) => ['job_id', run.fn.max('scheduled_for').as('last')])
    .where(isOpen)
    .where('state', '=', 'pending')
    .groupBy('job_id')
    .execute();
  return new Map(rows.map(({ job_id, last }) => [job_id, Number(last)]));
}

/** Number of pending and running runs by job and state, over all targets. */
export async function countOpen(db: Executor): Promise<{ job: string; state: string; count: number }[]> {
  const rows = await db
    .selectFrom('job_runs')
    .select((run) => ['job_id', 'state', run.fn.countAll<number>().as('count')])
    .where(isOpen)
    .groupBy(['job_id', 'state'])
    .execute();
  return rows.map(({ job_id, state, count }) => ({ job: job_id, state, count: Number(count) }));
}

/** Moves pending runs of a job that would start after `latestMs` to that time. */
export async function bringForward(tx: Executor, jobId: string, latestMs: number): Promise<void> {
  await tx
    .updateTable('job_runs')
    .set({ scheduled_for: latestMs })
    .where(isOpen)
    .where('job_id', '=', jobId)
    .where('state', '=', 'pending')
    .where('scheduled_for', '>', latestMs)
    .execute();
}

/** Stores that an event requires another run after the running one. @returns false: no run is running */
export async function noteRerun(tx: Executor, target: Target): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('job_runs')
    .set({ rerun: 1 })
    .where(isOpen)
    .where(isTarget(target))
    .where('state', '=', 'running')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Deletes the pending first attempts that the schedule planned, so that they are planned again. */
export async function deletePlanned(tx: Executor, jobId: string): Promise<void> {
  await tx
    .deleteFrom('job_runs')
    .where(isOpen)
    .where('job_id', '=', jobId)
    .where('state', '=', 'pending')
    .where('trigger', '=', 'schedule')
    .where('attempt', '=', 1)
    .execute();
}

/** A run of this service that was claimed. */
export type ClaimedRun = Pick<JobRunsTable, 'id' | 'job_id' | 'params' | 'trigger'>;

/** Marks due runs of this service as running. @param jobIds jobs that may run now @returns the claimed runs */
export async function claimControlRuns(
  tx: Tx,
  jobIds: readonly string[],
  claim: { limit: number; fence: number; nowMs: number },
): Promise<ClaimedRun[]> {
  if (jobIds.length === 0) return [];
  const due = tx
    .selectFrom('job_runs')
    .select('id')
    .where(isOpen)
    .where('host_id', 'is', null)
    .where('state', '=', 'pending')
    .where('scheduled_for', '<=', claim.nowMs)
    .where('job_id', 'in', jobIds)
    .orderBy('scheduled_for')
    .orderBy('id')
    .limit(claim.limit);
  return tx
    .updateTable('job_runs')
    .set({ state: 'running', claimed_at: claim.nowMs, started_at: claim.nowMs, fence: claim.fence })
    .where('id', 'in', due.forNoKeyUpdate().skipLocked())
    .where('state', '=', 'pending')
    .returning(['id', 'job_id', 'params', 'trigger'])
    .execute();
}

/** A running run with the fields that its end needs. */
export type RunningRun = Pick<JobRunsTable, 'id' | 'job_id' | 'host_id' | 'claimed_at' | 'fence'> & EndingRun;

const RUNNING_COLUMNS = [
  'id',
  'job_id',
  'host_id',
  'claimed_at',
  'fence',
  'trigger',
  'attempt',
  'actor_user_id',
  'params',
  'rerun',
] as const;

/**
 * Running runs that the claim reaper checks: all runs of dispatchers, and runs that were claimed before `beforeMs` or
 * after `afterMs`.
 */
export function listReapable(
  db: Executor,
  claimed: { beforeMs: number; afterMs: number },
): Promise<RunningRun[]> {
  return db
    .selectFrom('job_runs')
    .select(RUNNING_COLUMNS)
    .where(isOpen)
    .where('state', '=', 'running')
    .where((row) =>
      row.or([
        row('fence', 'is not', null),
        row('claimed_at', '<', claimed.beforeMs),
        row('claimed_at', '>', claimed.afterMs),
      ]),
    )
    .execute();
}

/**
 * Reads running runs and locks their rows in the order of their ids until the transaction ends; runs that are not
 * running are left out.
 */
export function lockRunning(tx: Tx, ids: readonly string[]): Promise<RunningRun[]> {
  return tx
    .selectFrom('job_runs')
    .select(RUNNING_COLUMNS)
    .where('id', 'in', ids)
    .where('state', '=', 'running')
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

/**
 * Locks and returns running runs that earlier processes of the hosts' agents claimed. A run whose report is being
 * stored is left out.
 * @param hosts at least one; bootId is the agent process that registers
 */
export async function lockRunsOfOtherBoots(
  tx: Tx,
  hosts: readonly { hostId: string; bootId: string }[],
): Promise<RunningRun[]> {
  const busy = await tx
    .selectFrom('job_runs')
    .select('host_id')
    .distinct()
    .where(isOpen)
    .where(
      'host_id',
      'in',
      hosts.map(({ hostId }) => hostId),
    )
    .where('state', '=', 'running')
    .execute();
  const runs: RunningRun[] = [];
  for (const { host_id } of busy) {
    const host = hosts.find(({ hostId }) => hostId === host_id);
    if (host === undefined) continue;
    const ofOtherBoots = await tx
      .selectFrom('job_runs')
      .select(RUNNING_COLUMNS)
      .where(isOpen)
      .where('host_id', '=', host.hostId)
      .where('state', '=', 'running')
      .where((row) => row.or([row('claimed_boot', 'is', null), row('claimed_boot', '!=', host.bootId)]))
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    runs.push(...ofOtherBoots);
  }
  return runs;
}

export interface RunEnd {
  id: string;
  state: Exclude<JobRunState, OpenState>;
  /** Summary as JSON text. */
  summary: string;
  error: string | null;
}

/** Ends runs that the transaction has locked. @param finishedAtMs time of their end */
export async function endRuns(tx: Tx, ends: readonly RunEnd[], finishedAtMs: number): Promise<void> {
  await tx
    .updateTable('job_runs')
    .from(
      values<{ column1: string; column2: RunEnd['state']; column3: string; column4: string | null }>(
        ends.map(({ id, state, summary, error }) => sql`(${id}, ${state}, ${summary}, ${error})`),
      ),
    )
    .set(({ ref }) => ({
      state: ref('written.column2'),
      summary: ref('written.column3'),
      error: ref('written.column4'),
      finished_at: finishedAtMs,
      rerun: 0 as const,
    }))
    .whereRef('job_runs.id', '=', 'written.column1')
    .execute();
}

/** Runs with these ids, of any host; unknown ids are missing. */
export async function findRuns(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Pick<JobRunsTable, 'job_id' | 'host_id' | 'state'>>> {
  const rows = await db
    .selectFrom('job_runs')
    .select(['id', 'job_id', 'host_id', 'state'])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map(({ id, ...run }) => [id, run]));
}

/** Open runs by host; a host without open runs is missing. */
export async function listRunsOfHosts(
  db: Executor,
  hostIds: readonly string[],
): Promise<ReadonlyMap<string, RunOfHost[]>> {
  const rows = await db
    .selectFrom('job_runs')
    .innerJoin('jobs', 'jobs.id', 'job_runs.job_id')
    .select([
      'job_runs.id',
      'job_runs.host_id',
      'job_runs.job_id',
      'job_runs.params',
      'job_runs.state',
      'job_runs.scheduled_for',
      'job_runs.claimed_at',
      'job_runs.claimed_boot',
      'jobs.enabled',
    ])
    .where(isOpen)
    .where('job_runs.host_id', 'in', hostIds)
    .execute();
  const byHost = new Map<string, RunOfHost[]>();
  for (const row of rows as (RunOfHost & { host_id: string })[]) {
    const runs = byHost.get(row.host_id);
    if (runs === undefined) byHost.set(row.host_id, [row]);
    else runs.push(row);
  }
  return byHost;
}

/**
 * Marks pending runs as running.
 * @param claims bootId: id of the agent process that claims the run; null: it sent none
 * @returns ids of the claimed runs; a concurrent claim may have claimed the others
 */
export async function claimRuns(
  database: Database,
  claims: readonly { id: string; bootId: string | null }[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const ids = claims.map(({ id }) => id);
  const due = database.db
    .selectFrom('job_runs')
    .select('id')
    .where('id', 'in', ids)
    .where('state', '=', 'pending');
  const rows = await database.db
    .updateTable('job_runs')
    .from(
      values<{ column1: string; column2: string | null }>(
        claims.map(({ id, bootId }) => sql`(${id}, ${bootId})`),
      ),
    )
    .set(({ ref }) => ({
      state: 'running' as const,
      claimed_at: nowMs,
      started_at: nowMs,
      claimed_boot: ref('written.column2'),
    }))
    .whereRef('job_runs.id', '=', 'written.column1')
    // The rows are locked in no fixed order, so the query skips locked rows instead of waiting, which prevents
    // deadlocks.
    .where('job_runs.id', 'in', due.forNoKeyUpdate().skipLocked())
    .where('job_runs.state', '=', 'pending')
    .returning('job_runs.id')
    .execute();
  return new Set(rows.map(({ id }) => id));
}
