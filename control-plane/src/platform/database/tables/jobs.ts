import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** Background jobs and their runs. */
export interface JobsTables {
  jobs: JobsTable;
  job_runs: JobRunsTable;
}

/**
 * A job that the code defines, with the schedule that administrators chose. The rows are updated from the code at each
 * start.
 */
export interface JobsTable {
  /** Dotted name from the code. */
  id: string;
  name: string;
  description: string;
  plane: 'control' | 'agent';
  scope: 'instance' | 'host';
  /** 0: the job is only listed; it cannot be run or changed. */
  managed: Flag;
  schedule_kind: 'interval' | 'event' | 'manual';
  enabled: Flag;
  /** null unless the kind is interval. */
  interval_secs: number | null;
  /** HH:MM:SS in `timezone`; both null: the job has no window. */
  window_start: string | null;
  window_end: string | null;
  /** JSON array of 0 (Sunday) to 6; []: every day. */
  window_days: string;
  /** IANA time zone. */
  timezone: string;
  /** Number of runs that are kept for each target. */
  history_limit: number;
  created_at: number;
  updated_at: number;
}

/** One run of a job. A target (the instance, or one host) has at most one open run of a job. */
export interface JobRunsTable {
  id: string;
  job_id: string;
  /** null: the run is for the whole instance. */
  host_id: string | null;
  /** A run is open while it is pending or running. */
  state: 'pending' | 'running' | 'succeeded' | 'failed' | 'deferred' | 'skipped' | 'aborted';
  trigger: 'schedule' | 'manual' | 'event';
  /** Account that started the run manually; null: the run started in another way, or the account was deleted. */
  actor_user_id: string | null;
  /** 1 for the first try; a deferred run is followed by a run with the next number. */
  attempt: number;
  /** The run is due from this time on. */
  scheduled_for: number;
  claimed_at: number | null;
  started_at: number | null;
  finished_at: number | null;
  /** JSON object of at most 4096 bytes. */
  params: string;
  summary: string;
  error: string | null;
  created_at: number;
  /** Boot id of the agent process that claimed the run; null: no agent claimed it. */
  claimed_boot: string | null;
  /** Fencing number of the dispatcher that claimed the run; null for runs of agents. */
  fence: number | null;
  /** 1: an event occurred while the run was running, so another run follows. */
  rerun: Generated<Flag>;
}
