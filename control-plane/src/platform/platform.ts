import type { Clock, Logger, Random } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import type { AgentJobId } from '@footlight/protocol/agent';
import type { ActivityAction } from '@footlight/protocol/rest';
import type { Bus } from './bus/bus.ts';
import type { Config } from './config/config.ts';
import type { Database, Tx } from './database/database.ts';
import type { JobRunsTable } from './database/tables/jobs.ts';
import type { LaunchTraces } from './launch-traces.ts';
import type { Fence, Leader } from './leader.ts';
import type { Meters } from './meters.ts';
import type { PeriodicWriter } from './queues/periodic-writer.ts';
import type { WriteBatch } from './queues/write-batch.ts';
import type { Webhook } from './webhook.ts';

/** Writes the activity log; never throws and never rolls anything back. */
export interface Activity {
  /**
   * Writes an entry. Call this after the operation's commit.
   * @param actorUserId null for actions without a caller: boot, agents, expiry
   * @param details ids, names, counts and keys; never a secret or a setting's value. Details over 4096 bytes are
   *   replaced by {truncated: true}
   */
  record(
    actorUserId: string | null,
    action: ActivityAction,
    targetId: string | null,
    details?: Record<string, unknown>,
  ): Promise<void>;
  /** Waits for the entries that are being written. */
  settled(): Promise<void>;
}

/** Jobs that this service runs; `jobs/code-jobs.ts` describes them. */
export type ControlJobId =
  | 'artwork.prune_orphans'
  | 'artwork.sweep'
  | 'auth.token_janitor'
  | 'database.backup'
  | 'devauth.reaper'
  | 'library.discovery'
  | 'storage.home_janitor'
  | 'telemetry.retain';

/** An interval that a variable of the environment sets. Administrators cannot change such an interval. */
export interface IntervalLock {
  variable: string;
  /** null: no schedule starts the job. */
  everyMs: number | null;
}

/** Arguments of a job's run. */
export interface JobRunContext {
  /** Call `check` first in every transaction: another replica may have taken over the run. */
  fence: Fence;
  params: JsonObject;
  /** What made the run. */
  trigger: JobRunsTable['trigger'];
  /** Aborted when the service stops, the lease is lost or the run's time is over. The job must then end soon. */
  signal: AbortSignal;
}

/**
 * Result of a run. deferred: a condition of the job was not met, or the run was interrupted; it is tried again.
 * skipped: there was nothing to do. Summary: at most 4096 bytes of JSON. An exception counts as failed.
 */
export interface JobOutcome {
  state: 'succeeded' | 'deferred' | 'skipped';
  summary?: JsonObject;
}

export interface JobWork {
  run(context: JobRunContext): Promise<JobOutcome>;
  /** Missing or null: administrators choose the interval. */
  lock?: IntervalLock | null;
  /** Interval of a job that is new in the database. Missing: the interval in `jobs/code-jobs.ts`. */
  firstIntervalMs?(): Promise<number>;
}

/** Background jobs, for features that have jobs. The jobs feature implements it. */
export interface Jobs {
  /**
   * Registers the work of a job that this service runs. Call this while the service is composed; a job without
   * registered work is not listed.
   * @throws when the job already has work
   */
  handle(id: ControlJobId, work: JobWork): void;
  /**
   * Requests a run of a job because of an event, in the transaction that found the event. The run starts at once or in
   * the next window. A pending run is moved to an earlier time; a running run is followed by another one.
   * @param hostId null: the job runs for the whole instance
   */
  event(tx: Tx, id: ControlJobId | AgentJobId, hostId: string | null): Promise<void>;
  /** Changes an interval, unless the environment sets it. Pending runs of the schedule are planned again. */
  changeInterval(tx: Tx, id: ControlJobId, everyMs: number): Promise<void>;
  /**
   * Runs a job of this service now and waits for its end: used at boot and in tests. Does nothing when jobs are
   * switched off, or another replica has the lease.
   */
  runNow(id: ControlJobId): Promise<void>;
}

/** Dependencies of every feature. */
export interface Platform {
  readonly config: Config;
  readonly database: Database;
  /** For short writes: those of one turn of the event loop share a transaction. */
  readonly writeBatch: WriteBatch;
  readonly periodicWriter: PeriodicWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly bus: Bus;
  readonly leader: Leader;
  readonly activity: Activity;
  readonly meters: Meters;
  /** null: neither a collector nor metrics are configured. */
  readonly traces: LaunchTraces | null;
  /** null: no webhook is configured. */
  readonly webhook: Webhook | null;
  readonly jobs: Jobs;
}
