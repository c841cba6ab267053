import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fetch } from 'undici';
import { type PostgresServer, startPostgres } from '../../src/postgres.ts';
import { eventually, freePort, type Program, repositoryRoot, startProgram } from '../../src/stack/program.ts';
import { CORES } from './load.ts';

export type Dialect = 'sqlite' | 'postgres';

/** Instance size that the marks refer to. */
export const LARGE = { users: 10_000, apps: 2_000, entitlements: 200_000 };

/** Output of the program that fills the database. */
export interface LargeCatalog {
  // biome-ignore lint/suspicious/noExplicitAny: rows of a table, compared with responses
  apps: any[];
  users: { id: string; email: string; token: string; apps: number[]; favourites: number[] }[];
}

/** The control plane on one core, with a database of the marks' size. */
export interface LargeInstance {
  readonly url: string;
  readonly pid: number;
  readonly directory: string;
  readonly catalog: LargeCatalog;
  stop(): Promise<void>;
}

/** @param passwordHash password hash of every user; absent: no user can log in */
export async function startLargeInstance(
  dialect: Dialect,
  signedIn: number,
  passwordHash = 'none',
): Promise<LargeInstance> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  let postgres: PostgresServer | null = null;
  let program: Program | null = null;
  const stop = async () => {
    await program?.kill('SIGTERM');
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    postgres = dialect === 'postgres' ? await startPostgres() : null;
    const dataDir = path.join(directory, 'control');
    mkdirSync(dataDir, { mode: 0o700 });
    const port = await freePort();
    const env = {
      CONTROL_PORT: String(port),
      LISTEN_ADDR: `127.0.0.1:${port}`,
      SERVICE_TLS: 'off',
      // The load generator acts as a proxy, so that one machine can be many clients.
      SERVICE_TRUSTED_PROXIES: '127.0.0.1',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
      ...(postgres && { DATABASE_URL: (await postgres.createDatabase()).url }),
    };
    const catalog = await fill(env, signedIn, passwordHash);
    program = startProgram('control-plane', [], env, path.join(directory, 'log'), CORES.server);
    const url = `http://127.0.0.1:${port}`;
    await eventually('the control plane answers /health', 60_000, async () => {
      return (await fetch(`${url}/health`)).ok || null;
    });
    return { url, pid: program.pid, directory, catalog, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(
  env: Record<string, string>,
  signedIn: number,
  passwordHash: string,
): Promise<LargeCatalog> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      path.join(repositoryRoot, 'node_modules', 'tsx', 'dist', 'loader.mjs'),
      path.join(repositoryRoot, 'control-plane', 'src', 'testing', 'large', 'large-catalog-main.ts'),
      ...[LARGE.users, LARGE.apps, LARGE.entitlements, signedIn].map(String),
      passwordHash,
    ],
    { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as LargeCatalog;
}
