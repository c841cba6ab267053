import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BUILT_PROGRAM } from '../install-location.ts';
import { type Config, ConfigRefused, loadConfig } from '../platform/config.ts';
import { VARIABLES } from '../platform/variables.ts';
import { CONTROL_SERVICE, controlUnit } from './unit.ts';

export interface InstallPlaces {
  environmentFile: string;
  unitFile: string;
  /** What the service runs: Node, and this program. */
  node: string;
  program: string;
}

const INSTALL_PLACES: InstallPlaces = {
  environmentFile: '/etc/footlight/control.env',
  unitFile: `/etc/systemd/system/${CONTROL_SERVICE}`,
  node: process.execPath,
  program: BUILT_PROGRAM,
};
/** StateDirectory= of the unit. */
const DATA_DIR = '/var/lib/service-control';
const LINE = /^([A-Z][A-Z0-9_]*)='([^']*)'$/;

/**
 * Makes this control plane a service: writes its environment and its unit, and starts it.
 * Repeatable: what an earlier call was told stays unless this one says otherwise; a variable given empty is removed.
 * @returns the exit code: 0 done, 1 something is in the way, 2 the configuration is refused. Nothing is written then.
 */
export async function install(
  environment: Readonly<Record<string, string | undefined>>,
  print: (line: string) => void,
  places: InstallPlaces = INSTALL_PLACES,
): Promise<number> {
  if (process.getuid?.() !== 0) {
    print('Installing a service needs root: run this with sudo.');
    return 1;
  }
  const closed = [places.node, places.program].flatMap((file) => closedOn(file) ?? []);
  if (closed.length > 0) {
    print(`The service has a user of its own, which may not pass ${closed[0]}.`);
    print('  → move this checkout (and Node, if that is meant) to /opt/footlight, and install from there');
    return 1;
  }
  const variables = merged(stored(places), environment);
  let config: Config;
  try {
    config = loadConfig(variables);
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error;
    print(error.message);
    return 2;
  }
  const elsewhere = dataPaths(config).find((file) => !`${file}/`.startsWith(`${DATA_DIR}/`));
  if (elsewhere !== undefined) {
    print(
      `The service keeps its data below ${DATA_DIR}, where its user may write; ${elsewhere} lies elsewhere.`,
    );
    print(
      `  → leave SERVICE_DATA_DIR, SERVICE_TLS_DIR and SERVICE_ARTWORK_DIR unset, or mount a disk at ${DATA_DIR}`,
    );
    return 2;
  }
  const unusable = Object.entries(variables).find(([, value]) => /['\n\r\0]/.test(value));
  if (unusable !== undefined) {
    print(
      `${unusable[0]}: expected a value without single quotes and line breaks; put it into a file and name that by ${unusable[0]}_FILE`,
    );
    return 2;
  }
  const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
  writeWhole(places.environmentFile, lines.sort().join(''), 0o600);
  const unit = controlUnit({
    node: places.node,
    program: places.program,
    environmentFile: places.environmentFile,
    lowPort: [config.http.listen, config.tls?.listen].some((address) => address && address.port < 1024),
  });
  writeWhole(places.unitFile, unit, 0o644);
  print(`Written: ${places.unitFile}, ${places.environmentFile}`);
  if (!existsSync('/run/systemd/system')) {
    print('Process 1 of this machine is not systemd, so nothing starts the service here.');
    return 0;
  }
  return startService(print);
}

/** Everything that the service writes and that has to outlive it. */
function dataPaths(config: Config): string[] {
  return [
    config.dataDir,
    config.artwork.dir,
    ...(config.tls && config.tls.provided === null ? [config.tls.dir] : []),
    ...(config.database.dialect === 'sqlite' ? [config.database.file] : []),
  ];
}

/** The first directory on the way that other users may not pass, or that the unit hides; null when there is none. */
function closedOn(file: string): string | null {
  const hidden = /^\/(home|root|run\/user)(?=\/)/.exec(file)?.[0];
  if (hidden !== undefined) return hidden;
  for (let at = file; at !== '/'; at = dirname(at)) {
    // Read for the file itself, pass for what it lies in.
    if ((statSync(at).mode & (at === file ? 0o004 : 0o001)) === 0) return at;
  }
  return null;
}

function stored({ environmentFile }: InstallPlaces): Record<string, string> {
  if (!existsSync(environmentFile)) return {};
  const lines = readFileSync(environmentFile, 'utf8').split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const match = LINE.exec(line.trim());
      return match ? [[match[1] ?? '', match[2] ?? ''] as const] : [];
    }),
  );
}

/** A variable given as a file takes the place of the value itself, and the other way round. */
function merged(
  before: Record<string, string>,
  given: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const variables = { ...before };
  for (const name of Object.keys(VARIABLES)) {
    const file = `${name}_FILE`;
    if (given[name] === undefined && given[file] === undefined) continue;
    delete variables[name];
    delete variables[file];
    if (given[file]) variables[file] = given[file];
    if (given[name]) variables[name] = given[name];
  }
  return variables;
}

function startService(print: (line: string) => void): number {
  for (const words of [['daemon-reload'], ['enable', CONTROL_SERVICE], ['restart', CONTROL_SERVICE]]) {
    try {
      execFileSync('systemctl', words, { stdio: ['ignore', 'ignore', 'pipe'] });
    } catch {
      print(`systemctl ${words.join(' ')} failed.`);
      print(`  → journalctl -u ${CONTROL_SERVICE} -n 30`);
      return 1;
    }
  }
  print(`${CONTROL_SERVICE} is running, and starts with this machine.`);
  return 0;
}

/** A file appears whole or not at all. */
function writeWhole(file: string, text: string, mode: number): void {
  mkdirSync(dirname(file), { recursive: true });
  const partial = join(dirname(file), `.${process.pid}.partial`);
  writeFileSync(partial, text, { mode });
  chmodSync(partial, mode);
  renameSync(partial, file);
}
