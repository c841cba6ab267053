import { createLogger, systemRandom } from '@footlight/platform';
import { createInProcessBus } from '../../platform/bus/in-process.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { type Database, type DatabaseTarget, openDatabase } from '../../platform/database/index.ts';
import { createLeader } from '../../platform/leader.ts';
import { NO_METERS } from '../../platform/meters.ts';
import type { JobOutcome, JobRunContext } from '../../platform/platform.ts';
import { ManualClock } from '../../testing/index.ts';
import { createJobs } from '../service.ts';

/** The only job for which these replicas have registered work. */
export const JANITOR = 'auth.token_janitor';
const logger = createLogger('silent');

/** One process of the control plane: its jobs, its leader and its clock. The test must close it. */
export function replica(database: Database, clock: ManualClock, env: Record<string, string> = {}) {
  const bus = createInProcessBus({ clock, logger });
  const leader = createLeader({ database, clock, random: systemRandom, logger, bus });
  const activity = { record: async () => undefined, settled: async () => undefined };
  const config = loadConfig(env);
  const jobs = createJobs({
    config,
    database,
    clock,
    random: systemRandom,
    logger,
    bus,
    leader,
    activity,
    meters: NO_METERS,
    traces: null,
  });
  const started: JobRunContext[] = [];
  const waiting: ((outcome: JobOutcome | Error) => void)[] = [];
  let held: { ignoresSignal: boolean } | null = null;
  jobs.handle(JANITOR, {
    run(context) {
      started.push(context);
      if (held === null) return Promise.resolve({ state: 'succeeded', summary: { deleted: started.length } });
      const { ignoresSignal } = held;
      return new Promise((resolve, reject) => {
        waiting.push((outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
        if (!ignoresSignal) context.signal.addEventListener('abort', () => reject(context.signal.reason));
      });
    },
  });
  return {
    jobs,
    leader,
    started: started as readonly JobRunContext[],
    /** After this call, runs of the janitor wait for `finish`. */
    hold: (how = { ignoresSignal: false }) => {
      held = how;
    },
    finish: (outcome: JobOutcome | Error = { state: 'succeeded' }) => waiting.shift()?.(outcome),
    tick: () => leader.runNow('jobs.dispatch'),
    async close() {
      await jobs.close();
      await leader.close();
      await bus.close();
    },
  };
}
export type Replica = ReturnType<typeof replica>;

/** A database with one replica. The test must close it. */
export async function openJobsWorld(target: DatabaseTarget, env: Record<string, string> = {}) {
  const database = await openDatabase(target, { logger });
  const clock = new ManualClock();
  const one = replica(database, clock, env);
  await one.jobs.start();
  const runs = () =>
    database.db.selectFrom('job_runs').selectAll().orderBy('created_at').orderBy('attempt').execute();
  return {
    ...{ database, clock, one, runs },
    states: async () => (await runs()).map(({ state }) => state),
    setInterval: (interval_secs: number) =>
      database.db.updateTable('jobs').set({ interval_secs }).where('id', '=', JANITOR).execute(),
    async close(...more: { close(): Promise<void> }[]) {
      for (const each of [one, ...more]) await each.close();
      await database.close();
    },
  };
}
