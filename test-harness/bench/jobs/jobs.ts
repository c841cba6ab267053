/**
 * jobs: how many of 5,000 due runs of 100 hosts are claimed (up to five at once) and reported per second, compared with
 * pg-boss and graphile-worker doing the same on the same Postgres, each in its own process.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PostgresServer, startPostgres } from '../../src/postgres.ts';
import { CORES, startWorker, type Worker } from '../api/load.ts';
import { alternate, exitStatus, judge, printVerdict } from '../rounds.ts';

const PEERS = ['pg-boss', 'graphile-worker'] as const;
/** Claims per second: smallest ratio of the subject's figure to the peer's figure. */
const MARKS: Record<(typeof PEERS)[number], number> = { 'pg-boss': 2, 'graphile-worker': 0.7 };

/** @returns exit status: the worst of both figures */
export async function benchJobs(rounds: number): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  let postgres: PostgresServer | null = null;
  const workers: Worker[] = [];
  const start = async (program: string, env: Record<string, string>): Promise<Worker> => {
    const worker = startWorker(CORES.server, program, [], env);
    workers.push(worker);
    for (let line = await worker.line(); line !== 'ready'; ) line = await worker.line();
    return worker;
  };
  try {
    postgres = await startPostgres();
    const dataDir = path.join(directory, 'control');
    mkdirSync(dataDir, { mode: 0o700 });
    const subject = await start('control-plane/src/testing/large/job-claims-main.ts', {
      // The built program omits code for tests only.
      NODE_ENV: 'production',
      SERVICE_LOG_LEVEL: 'silent',
      SERVICE_TLS: 'off',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
      DATABASE_URL: (await postgres.createDatabase()).url,
    });
    const peers = await start('test-harness/bench/jobs/peers-main.ts', {
      DATABASE_URL: (await postgres.createDatabase()).url,
    });
    const rateOf = async (worker: Worker, command: string): Promise<number> => {
      worker.send(command);
      return (JSON.parse(await worker.line()) as { perSecond: number }).perSecond;
    };
    const kept = await alternate(
      rounds,
      {
        async reference() {
          const rates: number[] = [];
          for (const peer of PEERS) rates.push(await rateOf(peers, peer));
          return rates;
        },
        async subject() {
          const rate = await rateOf(subject, 'claims');
          return PEERS.map(() => rate);
        },
      },
      PEERS.map((peer) => `jobs ${peer}`),
    );
    return PEERS.reduce((status, peer, n) => {
      const judgement = judge(
        `jobs ${peer}`,
        kept[n] ?? [],
        (ratio) => ratio >= MARKS[peer],
        'claims a second',
      );
      printVerdict({ ...judgement, mark: MARKS[peer] });
      return Math.max(status, exitStatus(judgement.verdict));
    }, 0);
  } finally {
    for (const worker of workers) await worker.stop();
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
