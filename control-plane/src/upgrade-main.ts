/** footlight upgrade FILE.deb */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  delay,
  errorText,
  isSystemdRunning,
  renderEnvironment,
  systemClock,
  writeWhole,
} from '@footlight/platform';
import { serviceRunWords } from './install/service-run.ts';
import { UpgradeRefused, type UpgradeTools, upgrade } from './install/upgrade.ts';
import { type Config, loadConfig } from './platform/config/config.ts';

/** The database of the service, for the programs that save and restore it. Only root can read this file. */
const ENVIRONMENT = '/run/footlight-upgrade.env';
const BACKUP_PROGRAM = fileURLToPath(new URL('../dist/backup-main.js', import.meta.url));
const ASK_EVERY_MS = 500;

/** @returns the exit code @throws UpgradeRefused, ConfigError */
async function main(): Promise<number> {
  const [file, ...rest] = process.argv.slice(3);
  if (file === undefined || rest.length > 0) throw new UpgradeRefused('Usage: footlight upgrade FILE.deb');
  if (process.getuid?.() !== 0)
    throw new UpgradeRefused('An upgrade needs root: sudo footlight upgrade FILE.deb');
  if (!isSystemdRunning())
    throw new UpgradeRefused(
      'Process 1 of this machine is not systemd, so nothing runs the control plane here.',
    );
  const config = loadConfig(process.env);
  if (config.bus !== null)
    throw new UpgradeRefused(
      'This control plane is one of several (SERVICE_BUS_URL), and the others use the database. Upgrade them one after another by `dpkg -i`: docs/backup.md, "Upgrade several control planes".',
    );
  // An interrupted upgrade would leave the service stopped.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // Read now, because files of LoadCredential= exist only while the service runs.
  const { database, dataDir } = config;
  const url = database.dialect === 'sqlite' ? `sqlite:${database.file}` : database.url;
  await writeWhole(ENVIRONMENT, renderEnvironment({ DATABASE_URL: url, SERVICE_DATA_DIR: dataDir }), 0o600);
  try {
    return await upgrade(path.resolve(file), {
      run,
      runAsService,
      waitForHealth: (limitMs) => waitForHealth(config, limitMs),
      // A terminal that was closed must not end the upgrade.
      print: (line) => void process.stdout.write(`${line}\n`, () => undefined),
    });
  } finally {
    await rm(ENVIRONMENT, { force: true });
  }
}

const run: UpgradeTools['run'] = async (program, args, env = {}) => {
  const options = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', ...env },
    maxBuffer: 16 * 1024 * 1024,
  };
  try {
    // In a session of its own, because Ctrl-C in a terminal goes to all programs of the session.
    return (await promisify(execFile)('setsid', ['--wait', program, ...args], options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(
      `${program} ${args[0]}: ${`${stdout}${stderr}`.trim().slice(-2_000) || errorText(error)}`,
    );
  }
};

const runAsService: UpgradeTools['runAsService'] = (program, args) => {
  const own = program === 'backup' || program === 'restore';
  const command = own ? [process.execPath, BACKUP_PROGRAM, program, ...args] : [program, ...args];
  return run('systemd-run', serviceRunWords([`EnvironmentFile=${ENVIRONMENT}`], command));
};

async function waitForHealth(config: Config, limitMs: number): Promise<string | null> {
  const { host, port } = config.http.listen;
  const own = host === null || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = `http://${isIPv6(own) ? `[${own}]` : own}:${port}/health`;
  const untilMs = systemClock.monotonicMs() + limitMs;
  for (;;) {
    const answer = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(5_000) }).then(
      async (response) => `${address} answers ${response.status} ${(await response.text()).slice(0, 200)}`,
      (error) => `${address}: ${errorText(error)}`,
    );
    if (/ 200 .*"status":"ok"/.test(answer)) return null;
    if (systemClock.monotonicMs() >= untilMs) return answer;
    await delay(systemClock, ASK_EVERY_MS);
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  },
);
