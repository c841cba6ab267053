/** footlight upgrade FILE.deb */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { delay, errorText, isSystemdRunning, systemClock } from '@footlight/platform';
import { CONTROL_SERVICE } from './install/unit.ts';
import { UpgradeRefused, type UpgradeTools, upgrade } from './install/upgrade.ts';
import { type Config, loadConfig } from './platform/config/config.ts';

const ENVIRONMENT = '/etc/footlight/control.env';
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
  return upgrade(path.resolve(file), config.bus !== null, {
    run,
    runAsService,
    sickness: (limitMs) => sickness(config, limitMs),
    print: (line) => void process.stdout.write(`${line}\n`),
  });
}

const run: UpgradeTools['run'] = async (program, words, env = {}) => {
  const options = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', ...env },
    maxBuffer: 16 * 1024 * 1024,
  };
  try {
    return (await promisify(execFile)(program, [...words], options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(
      `${program} ${words[0]}: ${`${stdout}${stderr}`.trim().slice(-2_000) || errorText(error)}`,
    );
  }
};

const runAsService: UpgradeTools['runAsService'] = (program, words) => {
  const own = program === 'backup' || program === 'restore';
  const command = own ? [process.execPath, BACKUP_PROGRAM, program, ...words] : [program, ...words];
  return run('systemd-run', [
    '--quiet',
    '--wait',
    '--pipe',
    '--property=DynamicUser=yes',
    `--property=User=${path.parse(CONTROL_SERVICE).name}`,
    '--property=StateDirectory=service-control',
    '--property=UMask=0077',
    `--property=EnvironmentFile=${ENVIRONMENT}`,
    ...command,
  ]);
};

async function sickness(config: Config, limitMs: number): Promise<string | null> {
  const { host, port } = config.http.listen;
  const address = `http://${host === null || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}/health`;
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
