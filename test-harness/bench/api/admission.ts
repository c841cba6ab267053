/**
 * admission: launches that fill every slot of 200 hosts, with 8 and with 50 concurrent clients, compared with plain
 * inserts of the same number of sessions whose GPU was chosen beforehand. The bench counts double bookings, and
 * refusals while slots are free.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PostgresServer, startPostgres } from '../../src/postgres.ts';
import { alternate, exitStatus, judge, printVerdict } from '../rounds.ts';
import type { Dialect } from './large-instance.ts';
import { CORES, startWorker, type Worker } from './load.ts';

const CLIENTS = [8, 50] as const;
/** Launches per second: minimum ratio of the subject's figure to the reference's figure. */
const MARKS: Record<Dialect, number> = { sqlite: 0.4, postgres: 0.35 };

interface AdmissionFigures {
  perSecond: number;
  refused: number;
  overbooked: number;
}

/** @returns exit status: the worst of all figures */
export async function benchAdmission(rounds: number, dialects: readonly Dialect[]): Promise<number> {
  let status = 0;
  for (const dialect of dialects) status = Math.max(status, await benchDialect(rounds, dialect));
  return status;
}

async function benchDialect(rounds: number, dialect: Dialect): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  let postgres: PostgresServer | null = null;
  let worker: Worker | null = null;
  try {
    postgres = dialect === 'postgres' ? await startPostgres() : null;
    worker = await startAdmission(directory, postgres && (await postgres.createDatabase()).url);
    return await measure(rounds, dialect, worker);
  } finally {
    await worker?.stop();
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Starts the program that fills the fleet, with its data below the given directory.
 * @param databaseUrl null: SQLite
 */
export async function startAdmission(directory: string, databaseUrl: string | null): Promise<Worker> {
  const dataDir = path.join(directory, 'control');
  mkdirSync(dataDir, { mode: 0o700 });
  const worker = startWorker(CORES.server, 'control-plane/src/testing/large/admission-main.ts', [], {
    // The built program omits code for tests only.
    NODE_ENV: 'production',
    SERVICE_LOG_LEVEL: 'silent',
    SERVICE_TLS: 'off',
    SERVICE_DATA_DIR: dataDir,
    SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
    ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }),
  });
  for (let line = await worker.line(); line !== 'ready'; ) line = await worker.line();
  return worker;
}

async function measure(rounds: number, dialect: Dialect, worker: Worker): Promise<number> {
  const names = CLIENTS.map((clients) => `admission ${dialect} ${clients}`);
  const wrong = { refused: 0, overbooked: 0 };
  const side = async (name: 'reference' | 'subject'): Promise<number[]> => {
    const rates: number[] = [];
    for (const clients of CLIENTS) {
      worker.send(JSON.stringify({ side: name, clients }));
      const figures = JSON.parse(await worker.line()) as AdmissionFigures;
      rates.push(figures.perSecond);
      if (name === 'subject') {
        wrong.refused += figures.refused;
        wrong.overbooked += figures.overbooked;
      }
    }
    return rates;
  };
  const kept = await alternate(
    rounds,
    { reference: () => side('reference'), subject: () => side('subject') },
    names,
  );
  const sound = wrong.refused === 0 && wrong.overbooked === 0;
  printVerdict({ bench: `admission ${dialect}`, ...wrong, verdict: sound ? 'met' : 'missed' });
  return names.reduce(
    (status, name, n) => {
      const isMet = (ratio: number) => ratio >= MARKS[dialect];
      const judgement = judge(name, kept[n] ?? [], isMet, 'launches a second');
      printVerdict({ ...judgement, mark: MARKS[dialect] });
      return Math.max(status, exitStatus(judgement.verdict));
    },
    sound ? 0 : 1,
  );
}
