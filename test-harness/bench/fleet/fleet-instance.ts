import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fetch } from 'undici';
import { type PostgresServer, startPostgres } from '../../src/postgres.ts';
import { eventually, freePort, repositoryRoot, startProgram } from '../../src/stack/program.ts';
import type { Dialect } from '../api/large-instance.ts';
import { CORES, startWorker, type Worker } from '../api/load.ts';

/** The fleet in the database, as large-fleet-main prints it. A host's secret is its name, repeated three times. */
export interface Fleet {
  appId: string;
  adminToken: string;
  /** ownerToken: token of the person whose sessions the hosts run */
  hosts: { id: string; nodeName: string; sessions: string[]; ownerToken: string }[];
}

/** A server for agents and other clients. No other process runs on its core. */
export interface Side {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A control plane on its own core. */
export interface ControlSide extends Side {
  /** Time from the server's start to its first answer on /health. */
  readonly startSecs: number;
  kill(): Promise<void>;
}

export interface FleetInstance {
  readonly fleet: Fleet;
  /** The process that simulates the agents, on the other core. It has read the fleet from a file. */
  readonly load: Worker;
  /** Environment variables with which another program finds the database. */
  readonly env: Record<string, string>;
  /**
   * @param extra additional environment variables
   * @param at address of the previous control plane, to start the new one at the same address
   */
  startControl(extra?: Record<string, string>, at?: string): Promise<ControlSide>;
}

/**
 * Fills a database with hosts and running sessions, starts the load generator, and removes everything afterwards.
 * @param words arguments of the load generator after the file with the fleet
 */
export async function withFleet(
  size: { hosts: number; sessionsEach: number },
  loadProgram: string,
  work: (instance: FleetInstance) => Promise<number>,
  { dialect = 'sqlite', words = [] }: { dialect?: Dialect; words?: string[] } = {},
): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  let load: Worker | null = null;
  let postgres: PostgresServer | null = null;
  try {
    postgres = dialect === 'postgres' ? await startPostgres() : null;
    const dataDir = path.join(directory, 'control');
    mkdirSync(dataDir, { mode: 0o700 });
    const env = {
      SERVICE_TLS: 'off',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
      ...(postgres && { DATABASE_URL: (await postgres.createDatabase()).url }),
    };
    const fleet = await fill(env, size);
    const file = path.join(directory, 'fleet.json');
    writeFileSync(file, JSON.stringify(fleet));
    load = startWorker(CORES.load, loadProgram, [file, ...words]);
    return await work({
      fleet,
      load,
      env,
      startControl: (extra, at) => startControl({ ...env, ...extra }, directory, at),
    });
  } finally {
    await load?.stop();
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fill(
  env: Record<string, string>,
  { hosts, sessionsEach }: { hosts: number; sessionsEach: number },
): Promise<Fleet> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      path.join(repositoryRoot, 'node_modules', 'tsx', 'dist', 'loader.mjs'),
      path.join(repositoryRoot, 'control-plane', 'src', 'testing', 'large', 'large-fleet-main.ts'),
      String(hosts),
      String(sessionsEach),
    ],
    { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as Fleet;
}

/** @param program a server that prints its address */
export async function startReference(program: string, env: Record<string, string> = {}): Promise<Side> {
  const worker = startWorker(CORES.server, program, [], env);
  return { url: await worker.line(), pid: worker.pid, stop: () => worker.stop() };
}

async function startControl(
  env: Record<string, string>,
  directory: string,
  at?: string,
): Promise<ControlSide> {
  const port = at === undefined ? await freePort() : Number(new URL(at).port);
  const startedMs = performance.now();
  const program = startProgram(
    'control-plane',
    [],
    {
      ...env,
      CONTROL_PORT: String(port),
      LISTEN_ADDR: `127.0.0.1:${port}`,
      // All hosts of the bench connect from one address.
      SERVICE_CONNECTIONS_PER_ADDRESS: '0',
    },
    path.join(directory, 'log'),
    CORES.server,
  );
  const url = `http://127.0.0.1:${port}`;
  await eventually('the control plane answers /health', 60_000, async () => {
    return (await fetch(`${url}/health`)).ok || null;
  });
  return {
    url,
    pid: program.pid,
    startSecs: Math.round(performance.now() - startedMs) / 1_000,
    async stop() {
      await program.kill('SIGTERM');
    },
    async kill() {
      await program.kill('SIGKILL');
    },
  };
}
