/**
 * library: a home with 2,000 titles in three folders is scanned, and its first report reconciled on both databases. The
 * references are plain reads with only the parser, and plain inserts of the same rows in one transaction.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PostgresServer, startPostgres } from '../src/postgres.ts';
import { CORES, startWorker, type Worker } from './api/load.ts';
import { alternate, exitStatus, judge, printVerdict } from './rounds.ts';

/** Longest scan and longest reconcile. */
const MARK_MS = 2_000;

/** @returns exit status: the worst of all figures */
export async function benchLibrary(rounds: number): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  let postgres: PostgresServer | null = null;
  const workers: Worker[] = [];
  const start = async (program: string, env: Record<string, string>): Promise<Worker> => {
    const worker = startWorker(CORES.server, program, [], env);
    workers.push(worker);
    for (let line = await worker.line(); line !== 'ready'; ) line = await worker.line();
    return worker;
  };
  const controlPlane = (name: string, env: Record<string, string>): Promise<Worker> => {
    const dataDir = path.join(directory, name);
    mkdirSync(dataDir, { mode: 0o700 });
    return start('control-plane/src/testing/large/reconcile-main.ts', {
      // The built program omits code for tests only.
      NODE_ENV: 'production',
      SERVICE_LOG_LEVEL: 'silent',
      SERVICE_TLS: 'off',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
      // The service must not request titles from the store.
      SERVICE_STEAM_APPDETAILS_LOOKUP: '0',
      ...env,
    });
  };
  try {
    postgres = await startPostgres();
    const subjects = {
      'library scan': await start('node-agent/src/discovery/testing/large-scan-main.ts', {}),
      'library reconcile sqlite': await controlPlane('sqlite', {}),
      'library reconcile postgres': await controlPlane('postgres', {
        DATABASE_URL: (await postgres.createDatabase()).url,
      }),
    };
    const time = async (worker: Worker, command: string): Promise<number> => {
      worker.send(command);
      return (JSON.parse(await worker.line()) as { ms: number }).ms;
    };
    const each = async (command: (name: string) => string): Promise<number[]> => {
      const times: number[] = [];
      for (const [name, worker] of Object.entries(subjects)) times.push(await time(worker, command(name)));
      return times;
    };
    const subject = () => each((name) => (name === 'library scan' ? 'scan' : 'reconcile'));
    // The rows of the plain inserts are those of the first report.
    await subject();
    const names = Object.keys(subjects);
    const kept = await alternate(rounds, { reference: () => each(() => 'plain'), subject }, names);
    return names.reduce((status, name, n) => {
      const judgement = judge(name, kept[n] ?? [], (_ratio, ms) => ms <= MARK_MS, 'ms');
      printVerdict({ ...judgement, mark: MARK_MS });
      return Math.max(status, exitStatus(judgement.verdict));
    }, 0);
  } finally {
    for (const worker of workers) await worker.stop();
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
