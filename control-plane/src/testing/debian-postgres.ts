import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { freePort } from '@footlight/test-harness';
import pg from 'pg';

/**
 * Programs of Debian 12's Postgres 15. Debian's pg_dump refuses newer servers, and the npm package's server is newer.
 */
export const DEBIAN_POSTGRES = '/usr/lib/postgresql/15/bin';

export const hasDebianPostgres = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'psql'].every((program) =>
  existsSync(join(DEBIAN_POSTGRES, program)),
);

export interface DebianPostgres {
  /** Connection URL of the only database, with the password. */
  readonly url: string;
  readonly password: string;
  stop(): Promise<void>;
}

/**
 * Starts a Postgres server for one test, on loopback with a password. As root the server runs as Debian's user
 * `postgres`, because Postgres refuses to run as root.
 * @throws Error with the server's output when the server does not start
 */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-postgres15-'));
  const password = `p@ss ${randomBytes(8).toString('hex')}`;
  const passwordFile = join(folder, 'password');
  const data = join(folder, 'data');
  const asOther =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (asOther.length > 0) {
    const { uid, gid } = statSync('/var/lib/postgresql');
    for (const path of [folder, passwordFile]) chownSync(path, uid, gid);
  }
  const [first = '', ...prefix] = [...asOther, join(DEBIAN_POSTGRES, 'initdb')];
  const made = spawnSync(
    first,
    [
      ...prefix,
      ...['--no-sync', '--encoding=UTF8', '--locale=C', '--username=owner', '--auth=scram-sha-256'],
      `--pwfile=${passwordFile}`,
      data,
    ],
    { encoding: 'utf8', cwd: folder },
  );
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`initdb failed: ${made.stderr}`);
  }
  const port = await freePort();
  const [command = '', ...words] = [
    ...asOther,
    join(DEBIAN_POSTGRES, 'postgres'),
    '-D',
    data,
    '-p',
    String(port),
  ];
  for (const setting of ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'])
    words.push('-c', setting);
  const child = spawn('setpriv', ['--pdeathsig', 'INT', '--', command, ...words], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log = `${log}${String(chunk)}`.slice(-4000);
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGINT');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `postgres://owner:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  if (await comesUp(url, child)) return { url, password, stop };
  await stop();
  throw new Error(`Postgres did not start: ${log}`);
}

async function comesUp(url: string, child: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + 60_000;
  while (child.exitCode === null && performance.now() < deadline) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return false;
}
