import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** Background jobs and their runs. */
export interface JobsTables {
  jobs: JobsTable;
  job_runs: JobRunsTable;
}

/** A job of the code, with the schedule that administrators chose. Rows follow the code at each start. */
export interface JobsTable {
  /** Dotted name from the code. */
  id: string;
  name: string;
  description: string;
  plane: 'control' | 'agent';
  scope: 'instance' | 'host';
  /** 0: listed only; it cannot be run or changed. */
  managed: Flag;
  schedule_kind: 'interval' | 'event' | 'manual';
  enabled: Flag;
  /** null unless the kind is interval. */
  interval_secs: number | null;
  /** HH:MM:SS in `timezone`; both null: no window. */
  window_start: string | null;
  window_end: string | null;
  /** JSON array of 0 (Sunday) to 6; [] is every day. */
  window_days: string;
  /** IANA name. */
  timezone: string;
  /** Kept runs of each target (count). */
  history_limit: number;
  created_at: number;
  updated_at: number;
}

/** One run of a job. A target (the instance, or one host) has one open run of a job at most. */
export interface JobRunsTable {
  id: string;
  job_id: string;
  /** null: a run of the instance. */
  host_id: string | null;
  /** Open: pending, running. */
  state: 'pending' | 'running' | 'succeeded' | 'failed' | 'deferred' | 'skipped' | 'aborted';
  trigger: 'schedule' | 'manual' | 'event';
  /** Who started it by hand; null for others, and once the account is deleted. */
  actor_user_id: string | null;
  /** 1 for the first try; a deferred run is followed by the next one. */
  attempt: number;
  /** Due from then on. */
  scheduled_for: number;
  claimed_at: number | null;
  started_at: number | null;
  finished_at: number | null;
  /** JSON object of at most 4096 bytes. */
  params: string;
  summary: string;
  error: string | null;
  created_at: number;
  /** Agent process that claimed it; null for others. */
  claimed_boot: string | null;
  /** Fencing number of the dispatcher that claimed it; null for runs of agents. */
  fence: number | null;
  /** 1: an event came while it was running, so another run follows. */
  rerun: Generated<Flag>;
}
