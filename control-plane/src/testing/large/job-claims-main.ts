/**
 * Claims and reports runs of background jobs on many hosts, for the bench of jobs. For each line of standard input it
 * makes the runs due, lets every host claim and report until none is left, and prints {"perSecond"} with the claimed
 * and reported runs.
 *
 * It uses no HTTP and no agents, like the programs that it is compared with (pg-boss, graphile-worker).
 */
import { createInterface } from 'node:readline';
import { buildControlPlane } from '../../app.ts';
import { loadConfig } from '../../platform/config/config.ts';

const HOSTS = 100;
/** A host has only one open run per job, so many runs of a host need many jobs. */
const JOBS = 50;

const plane = await buildControlPlane(loadConfig(process.env));
const { clock, database, random } = plane.platform;
const { agents } = plane.jobs;
const row = await database.db
  .selectFrom('jobs')
  .selectAll()
  .where('id', '=', 'home.gc')
  .executeTakeFirstOrThrow();
const jobs = Array.from({ length: JOBS }, (_, n) => ({ ...row, id: `bench.job${n}` }));
await database.db.insertInto('jobs').values(jobs).execute();
const nodes = Array.from({ length: HOSTS }, (_, n) => ({
  hostId: random.uuid(),
  nodeName: `bench-host-${n}`,
  bootId: random.uuid(),
}));
await database.db
  .insertInto('hosts')
  .values(
    nodes.map(({ hostId, nodeName }) => ({
      ...{ id: hostId, node_name: nodeName, status: 'offline' as const, secret_hash: `none-${hostId}` },
      ...{ capacity_detection: 'unavailable' as const, drain_intent: 0 as const, features: '[]' },
      ...{ settings_overrides: '{}', pending_restart: 0 as const, created_at: clock.nowMs() },
    })),
  )
  .execute();

async function round(): Promise<number> {
  const nowMs = clock.nowMs();
  await database.db.deleteFrom('job_runs').execute();
  for (const { hostId } of nodes) {
    await database.db
      .insertInto('job_runs')
      .values(
        jobs.map(({ id }) => ({
          ...{ id: random.uuid(), job_id: id, host_id: hostId, state: 'pending' as const },
          ...{ trigger: 'schedule' as const, actor_user_id: null, attempt: 1, scheduled_for: nowMs },
          ...{ params: '{}', summary: '{}', created_at: nowMs },
        })),
      )
      .execute();
  }
  const startedMs = clock.monotonicMs();
  let done = 0;
  await Promise.all(
    nodes.map(async (node) => {
      for (;;) {
        const { runs } = await agents.pending(node);
        if (runs.length === 0) return;
        await Promise.all(
          runs.map(({ run_id }) => agents.report(node, { run_id, state: 'succeeded', summary: {} })),
        );
        done += runs.length;
      }
    }),
  );
  if (done !== HOSTS * JOBS) throw new Error(`${done} of ${HOSTS * JOBS} runs were claimed`);
  return done / ((clock.monotonicMs() - startedMs) / 1_000);
}

process.stdout.write('ready\n');
for await (const _ of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify({ perSecond: await round() })}\n`);
await plane.close();
