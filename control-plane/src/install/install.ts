import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  errorText,
  mergeEnvironment,
  readStoredEnvironment,
  renderEnvironment,
  startService,
  writeWhole,
} from '@footlight/platform';
import { BUILT_PROGRAM } from '../install-location.ts';
import { type Config, ConfigError, loadConfig } from '../platform/config/config.ts';
import { VARIABLES } from '../platform/config/variables.ts';
import { reachableAddresses } from '../platform/tls.ts';
import { claimLines } from './claim-lines.ts';
import { CONTROL_SERVICE, controlUnit, DATA_DIR } from './unit.ts';

export interface InstallPlaces {
  environmentFile: string;
  unitFile: string;
  /** Path of the Node binary that runs the service. */
  node: string;
  program: string;
  /** Command that runs this program's `install`. */
  command: string;
}

const INSTALL_PLACES: InstallPlaces = {
  environmentFile: '/etc/footlight/control.env',
  unitFile: `/etc/systemd/system/${CONTROL_SERVICE}`,
  node: process.execPath,
  program: BUILT_PROGRAM,
  // A package has its programs below /usr/lib, and a checkout does not.
  command: BUILT_PROGRAM.startsWith('/usr/lib/') ? 'footlight install' : 'scripts/control-plane install',
};

/**
 * Installs this control plane as a service: writes its environment and unit, and starts it. It can be repeated: values
 * of an earlier call stay unless this call overrides them; an empty variable is removed.
 * @returns the exit code: 0: done; 1: a problem of the machine; 2: an invalid configuration. With 1 and 2 nothing is
 *   written.
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
  const variables = mergeEnvironment(
    await readStoredEnvironment(places.environmentFile),
    environment,
    (name) => Object.hasOwn(VARIABLES, name),
  );
  let config: Config;
  try {
    config = loadConfig(variables);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    print(error.message);
    return 2;
  }
  const elsewhere = dataPaths(config).find((file) => !`${file}/`.startsWith(`${DATA_DIR}/`));
  if (elsewhere !== undefined) {
    print(
      `The service keeps its data below ${DATA_DIR}, where its user may write; ${elsewhere} lies elsewhere.`,
    );
    print(
      `  → leave SERVICE_DATA_DIR, SERVICE_TLS_DIR, SERVICE_ARTWORK_DIR and SERVICE_BACKUP_DIR unset, or mount a disk at ${DATA_DIR}`,
    );
    return 2;
  }
  let text: string;
  try {
    text = renderEnvironment(variables);
  } catch (error) {
    print(errorText(error));
    return 2;
  }
  const unit = controlUnit({
    node: places.node,
    program: places.program,
    environmentFile: places.environmentFile,
    writtenBy: places.command,
    lowPort: [config.http.listen, config.tls?.listen].some((address) => address && address.port < 1024),
  });
  await writeWhole(places.environmentFile, text, 0o600);
  await writeWhole(places.unitFile, unit, 0o644);
  print(`Written: ${places.unitFile}, ${places.environmentFile}`);
  const exitCode = await startService(CONTROL_SERVICE, print);
  // The service is ready, so the file exists if nobody has claimed the instance.
  if (exitCode === 0 && existsSync(config.accounts.setupTokenFile))
    for (const line of claimLines(config, reachableAddresses())) print(line);
  return exitCode;
}

/** Paths to which the service writes data that must persist. */
function dataPaths(config: Config): string[] {
  return [
    config.dataDir,
    config.artwork.dir,
    config.backups.dir,
    ...(config.tls && config.tls.provided === null ? [config.tls.dir] : []),
    ...(config.database.dialect === 'sqlite' ? [config.database.file] : []),
  ];
}

/** The first directory on the path that the service's user may not enter, or that the unit hides; null: none. */
function closedOn(file: string): string | null {
  const hidden = /^\/(home|root|run\/user)(?=\/)/.exec(file)?.[0];
  if (hidden !== undefined) return hidden;
  for (let at = file; at !== '/'; at = dirname(at)) {
    // The file needs read permission, its directories need execute permission.
    if ((statSync(at).mode & (at === file ? 0o004 : 0o001)) === 0) return at;
  }
  return null;
}
