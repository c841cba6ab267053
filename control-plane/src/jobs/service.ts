import { SECOND_MS } from '@footlight/platform';
import { flag, type Tx } from '../platform/database/index.ts';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import type { Jobs, JobWork } from '../platform/platform.ts';
import { type AgentRuns, createAgentRuns } from './agent-runs.ts';
import { CODE_JOBS } from './code-jobs.ts';
import type { JobsPlatform } from './deps.ts';
import { Dispatcher } from './dispatcher.ts';
import { createJobAdmin, type JobAdmin } from './job-admin.ts';
import { lockJob, syncJobs, updateJob } from './job-store.ts';
import { Pruner } from './pruner.ts';
import { windowOf } from './rules/effective.ts';
import { moveIntoWindow } from './rules/schedule.ts';
import { countOpen, deletePlanned, insertPending, noteRerun, pullForward } from './run-store.ts';

export interface JobsService extends Jobs {
  readonly admin: JobAdmin;
  readonly agents: AgentRuns;
  /** Number of pending and running runs by job and state, over all targets. */
  countOpen(): Promise<{ job: string; state: string; count: number }[]>;
  /** Updates the stored jobs from the code. Call this after all features registered their jobs and before `runNow`. */
  start(): Promise<void>;
  /** Ends the jobs that run in this process. Call this before the leader is closed. */
  close(): Promise<void>;
}

/**
 * Maximum attempts per event. An open run may end between the two statements of an attempt, but hardly this many times
 * in a row.
 */
const EVENT_TRIES = 5;

export function createJobs(platform: JobsPlatform): JobsService {
  const { clock, config, database, logger, random } = platform;
  const work = new Map<string, JobWork>();
  const pruner = new Pruner(platform);
  const dispatcher = new Dispatcher(platform, work, pruner);

  /**
   * Rows of the jobs that the code defines, with their default values. A job of this service without registered work is
   * left out.
   */
  async function defaultRows(): Promise<JobsTable[]> {
    const nowMs = clock.nowMs();
    const rows: JobsTable[] = [];
    for (const [id, job] of CODE_JOBS) {
      const own = work.get(id);
      if (job.plane === 'control' && job.managed && own === undefined) continue;
      const { name, description, plane, scope, managed, schedule } = job;
      const everyMs =
        schedule.kind === 'interval' ? ((await own?.firstIntervalMs?.()) ?? schedule.everyMs) : null;
      rows.push({
        ...{ id, name, description, plane, scope },
        managed: flag(managed),
        schedule_kind: schedule.kind,
        enabled: 1,
        interval_secs: everyMs === null ? null : Math.round(everyMs / SECOND_MS),
        ...{ window_start: null, window_end: null, window_days: '[]' },
        timezone: config.jobs.timezone,
        history_limit: config.jobs.historyLimit,
        ...{ created_at: nowMs, updated_at: nowMs },
      });
    }
    return rows;
  }

  return {
    admin: createJobAdmin(platform, work, pruner),
    agents: createAgentRuns(platform, pruner),
    countOpen: () => countOpen(database.db),

    handle(id, given) {
      if (work.has(id)) throw new Error(`the job ${id} has its work already`);
      work.set(id, given);
    },

    async event(tx: Tx, id, hostId) {
      const job = await lockJob(tx, id);
      if (job === undefined) return;
      const nowMs = clock.nowMs();
      const target = { jobId: id, hostId };
      const due = {
        trigger: 'event' as const,
        actor_user_id: null,
        scheduled_for: moveIntoWindow(windowOf(job), nowMs),
      };
      const run = { ...due, id: random.uuid(), job_id: id, host_id: hostId, attempt: 1, params: '{}' };
      for (let tried = 0; tried < EVENT_TRIES; tried += 1) {
        const added = await insertPending(tx, [{ ...run, created_at: nowMs }]);
        if (added.length > 0) return;
        if (await noteRerun(tx, target)) return;
        if ((await pullForward(tx, target, due)) !== undefined) return;
      }
      throw new Error(`the run of the job ${id} changes too often`);
    },

    async changeInterval(tx, id, everyMs) {
      if ((await lockJob(tx, id)) === undefined) return;
      await updateJob(tx, id, { interval_secs: Math.round(everyMs / SECOND_MS), updated_at: clock.nowMs() });
      if ((work.get(id)?.lock ?? null) === null) await deletePlanned(tx, id);
    },

    async runNow(id) {
      if (config.jobs.isOn) await dispatcher.runNow(id);
    },

    async start() {
      const rows = await defaultRows();
      await database.transaction(async (tx) => {
        await database.advisoryLock(tx, 'boot');
        await syncJobs(tx, rows);
      });
      if (config.jobs.isOn) dispatcher.start();
      else logger.warn({ variable: 'SERVICE_JOBS' }, 'jobs.switched_off');
    },

    close: () => dispatcher.close(),
  };
}
