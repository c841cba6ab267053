/**
 * size: the cost of the parts of a control plane that grow with the fleet, on Postgres, with 1,000, 10,000 and 100,000
 * hosts. Hosts are only rows of the database, without links. The cost of each part is compared with its cost at a tenth
 * of the hosts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../src/postgres.ts';
import { startWorker } from '../api/load.ts';
import { printVerdict } from '../rounds.ts';

const SIZES = [1_000, 10_000, 100_000] as const;

/** @returns 0: there is no mark */
export async function benchSize(): Promise<number> {
  for (const hosts of SIZES)
    printVerdict({ bench: `size, ${hosts} hosts, ms`, verdict: 'not judged', ...(await measure(hosts)) });
  return 0;
}

async function measure(hosts: number): Promise<Record<string, number>> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  const postgres = await startPostgres({ keepsCommits: true });
  const worker = startWorker(null, 'control-plane/src/testing/large/size-main.ts', [String(hosts)], {
    NODE_ENV: 'production',
    SERVICE_LOG_LEVEL: 'silent',
    SERVICE_TLS: 'off',
    SERVICE_DATA_DIR: directory,
    SERVICE_SETUP_TOKEN_PATH: path.join(directory, 'setup-token'),
    DATABASE_URL: (await postgres.createDatabase()).url,
  });
  try {
    return JSON.parse(await worker.line()) as Record<string, number>;
  } finally {
    await worker.stop();
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
