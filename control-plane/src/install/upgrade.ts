import { errorText } from '@footlight/platform';
import { CONTROL_SERVICE } from './unit.ts';

const PACKAGE = 'footlight-control';
/** Folder of the saved release and database, below the state directory of the service. */
const UPGRADE_DIR = '/var/lib/service-control/upgrade';
const CACHE_DIR = '/var/cache/footlight';
const OLD_PACKAGE = `${CACHE_DIR}/before-upgrade.deb`;
/** Packs the installed release, without compression, because the file is read only if the upgrade fails. */
const SAVE_PACKAGE = `cd ${CACHE_DIR} && rm -f *.deb && dpkg-repack --deb-option=-Znone ${PACKAGE} && mv *.deb ${OLD_PACKAGE}`;
const DUMP = `${UPGRADE_DIR}/before-upgrade.backup`;
// biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own field syntax
const STATUS = '-f=${Version} ${db:Status-Status}';
/** Time in which a release that has started must answer on /health. Chosen, not measured. */
const HEALTH_LIMIT_MS = 60_000;

/** Other programs and the service, as the upgrade uses them. */
export interface UpgradeTools {
  /** Runs a program. @returns its standard output @throws with its output, if it fails */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs a program of the installed release as the service's user, with its environment and data. */
  runAsService(program: string, args: readonly string[]): Promise<string>;
  /** Waits until /health answers "ok", for at most this time. @returns null, or what it answered last */
  waitForHealth(limitMs: number): Promise<string | null>;
  print(line: string): void;
}

/** Thrown for a refused upgrade; nothing was changed. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
}

/**
 * Upgrades the installed control plane to a package. If the new release does not start, or does not answer on /health,
 * the former release is put back with the former database.
 * @returns the exit code: 0: the new release runs; 1: the former release runs again; 2: neither runs
 * @throws UpgradeRefused
 */
export async function upgrade(file: string, tools: UpgradeTools): Promise<number> {
  const { run, runAsService, print } = tools;
  const { from, to } = await check(file, tools);
  print(`Footlight ${from} → ${to}. Sessions continue during the upgrade.`);
  print('Saving the former release and its database');
  await run('mkdir', ['-p', CACHE_DIR]);
  await run('sh', ['-c', SAVE_PACKAGE]);
  // The service is stopped first. Otherwise changes made after the backup would be lost if the database is put back.
  await run('systemctl', ['stop', CONTROL_SERVICE]);
  try {
    await runAsService('sh', ['-c', `mkdir -p ${UPGRADE_DIR} && rm -f ${DUMP}`]);
    await runAsService('backup', [DUMP]);
  } catch (error) {
    await run('systemctl', ['start', CONTROL_SERVICE]);
    throw new UpgradeRefused(`The database cannot be saved, so nothing was upgraded: ${errorText(error)}`);
  }
  print(`Installing ${to}`);
  const problem = await install(file, tools);
  if (problem === null) {
    await removeSavedPackage(tools);
    print(`Footlight ${to} runs. The former database is kept as ${DUMP} until the next upgrade.`);
    return 0;
  }
  print(`Footlight ${to} does not run: ${problem}`);
  const failure = await putBack(from, tools);
  if (failure !== null) {
    print(`${from} does not run either: ${failure}`);
    print(`  → journalctl -u ${CONTROL_SERVICE} -n 50`);
    print(`  The former release is in ${OLD_PACKAGE}, and its database in ${DUMP}.`);
    return 2;
  }
  await removeSavedPackage(tools);
  print(`Footlight ${from} runs again with the data from before the upgrade.`);
  return 1;
}

const removeSavedPackage = ({ run }: UpgradeTools) => run('rm', ['-f', OLD_PACKAGE]).catch(() => '');

/** @throws UpgradeRefused */
async function check(
  file: string,
  { run, waitForHealth }: UpgradeTools,
): Promise<{ from: string; to: string }> {
  const field = async (name: string) => (await run('dpkg-deb', ['--field', file, name])).trim();
  let name: string;
  let to: string;
  try {
    [name, to] = [await field('Package'), await field('Version')];
  } catch (error) {
    throw new UpgradeRefused(`${file} is not a Debian package: ${errorText(error)}`);
  }
  if (name !== PACKAGE) throw new UpgradeRefused(`${file} contains ${name}, not ${PACKAGE}.`);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own field syntax
  const from = (await run('dpkg-query', ['-W', '-f=${Version}', PACKAGE])).trim();
  const isNewer = await run('dpkg', ['--compare-versions', to, 'gt', from]).then(
    () => true,
    () => false,
  );
  if (!isNewer)
    throw new UpgradeRefused(`Footlight ${from} is installed, and ${file} is ${to}, which is not newer.`);
  const problem = await waitForHealth(0);
  if (problem !== null)
    throw new UpgradeRefused(
      `The installed release does not run (${problem}), so a failed upgrade could not be noticed. Repair it first, or install the file by \`dpkg -i\`.`,
    );
  return { from, to };
}

/** Installs the new release, which also migrates the database. @returns null, or why it does not run */
async function install(file: string, { run, waitForHealth }: UpgradeTools): Promise<string | null> {
  try {
    await run('dpkg', ['-i', file]);
  } catch (error) {
    const log = await run('journalctl', ['-u', CONTROL_SERVICE, '-n', '50', '-o', 'cat', '--no-pager']).catch(
      () => '',
    );
    return log.split('\n').findLast((line) => line.includes('cannot start')) ?? errorText(error);
  }
  return waitForHealth(HEALTH_LIMIT_MS);
}

/** @returns null, or why the former release does not run */
async function putBack(
  from: string,
  { run, runAsService, waitForHealth, print }: UpgradeTools,
): Promise<string | null> {
  try {
    // dpkg changed nothing, for example because another program holds its lock.
    if ((await run('dpkg-query', ['-W', STATUS, PACKAGE])).trim() === `${from} installed`) {
      await run('systemctl', ['start', CONTROL_SERVICE]);
      return await waitForHealth(HEALTH_LIMIT_MS);
    }
    print(`Putting back ${from} and its database`);
    await run('systemctl', ['stop', CONTROL_SERVICE]);
    // Unpacked before it is configured, because the configuration starts it, and it needs the former database.
    await run('dpkg', ['--unpack', OLD_PACKAGE], { FOOTLIGHT_PUT_BACK: '1' });
    await runAsService('restore', [DUMP]);
    await run('dpkg', ['--configure', PACKAGE]);
  } catch (error) {
    return errorText(error);
  }
  return waitForHealth(HEALTH_LIMIT_MS);
}
