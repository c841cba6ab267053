/**
 * The same work in pg-boss and graphile-worker. For each line of standard input, which names one of them, it makes the
 * jobs due, starts one worker for each host of the bench, waits until the workers have fetched and completed the jobs,
 * and prints {"perSecond"}. Both libraries have one queue for all workers. This is less work than in the subject, where
 * each host gets only its own runs.
 */
import { createInterface } from 'node:readline';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import PgBoss from 'pg-boss';

const WORKERS = 100;
const JOBS = 5_000;
/** Pool size of the control plane, for an equal comparison. */
const CONNECTIONS = 20;
const AT_ONCE = 5;

const connectionString = process.env.DATABASE_URL ?? '';
const pool = new pg.Pool({ connectionString, max: CONNECTIONS });
const boss = new PgBoss({ connectionString, max: CONNECTIONS, schedule: false, supervise: false });
await boss.start();
const utils = await makeWorkerUtils({ pgPool: pool, logger: new Logger(() => () => undefined) });
await utils.migrate();

const perSecond = (startedMs: number) => JOBS / ((performance.now() - startedMs) / 1_000);

let queues = 0;
async function pgBoss(): Promise<number> {
  // Each round has its own queue, because ended jobs stay in the table.
  queues += 1;
  const queue = `claims-${queues}`;
  await boss.createQueue(queue);
  await boss.insert(Array.from({ length: JOBS }, () => ({ name: queue })));
  const startedMs = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (;;) {
        const jobs = await boss.fetch(queue, { batchSize: AT_ONCE });
        if (jobs.length === 0) return;
        await Promise.all(jobs.map(({ id }) => boss.complete(queue, id)));
        done += jobs.length;
      }
    }),
  );
  if (done !== JOBS) throw new Error(`pg-boss completed ${done} of ${JOBS} jobs`);
  return perSecond(startedMs);
}

async function graphileWorker(): Promise<number> {
  await pool.query("select graphile_worker.add_job('claim') from generate_series(1, $1::int)", [JOBS]);
  let done = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const startedMs = performance.now();
  const runner = await run({
    pgPool: pool,
    concurrency: WORKERS,
    noHandleSignals: true,
    pollInterval: 1_000,
    // Its log lines would mix with the results.
    logger: new Logger(() => () => undefined),
    taskList: {
      async claim() {
        done += 1;
        if (done === JOBS) finish();
      },
    },
  });
  await finished;
  const rate = perSecond(startedMs);
  await runner.stop();
  return rate;
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const rate = await (line === 'pg-boss' ? pgBoss() : graphileWorker());
  process.stdout.write(`${JSON.stringify({ perSecond: rate })}\n`);
}
await boss.stop({ graceful: false });
await utils.release();
await pool.end();
