import { errorText } from '@footlight/platform';
import { CONTROL_SERVICE } from './unit.ts';

export const PACKAGE = 'footlight-control';
/** Folder of the saved release and database, below the state directory of the service. */
export const UPGRADE_DIR = '/var/lib/service-control/upgrade';
const OLD_PACKAGE = '/var/cache/footlight/before-upgrade.deb';
const DUMP = `${UPGRADE_DIR}/before-upgrade.backup`;
/** Time in which a release that has started must answer on /health. Chosen, not measured. */
export const HEALTH_LIMIT_MS = 60_000;

/** Other programs and the service, as the upgrade uses them. */
export interface UpgradeTools {
  /** Runs a program. @returns its standard output @throws with its output, if it fails */
  run(program: string, words: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs a program of the installed release as the service's user, with its environment and data. */
  runAsService(program: string, words: readonly string[]): Promise<string>;
  /** Waits until /health answers "ok", for at most this time. @returns null, or what it answered last */
  sickness(limitMs: number): Promise<string | null>;
  print(line: string): void;
}

/** Thrown for a refused upgrade; nothing was changed. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
}

/**
 * Upgrades the installed control plane to a package. A release that does not start or does not answer is replaced by the
 * former release with the former database.
 * @param sharesDatabase Whether other replicas use the database. Then it is not restored: a release only adds to the
 *   schema of the release before it, so the former release works with the new schema.
 * @returns the exit code: 0: the new release runs; 1: the former release runs again; 2: neither runs
 * @throws UpgradeRefused
 */
export async function upgrade(file: string, sharesDatabase: boolean, tools: UpgradeTools): Promise<number> {
  const { run, runAsService, print } = tools;
  const { from, to } = await check(file, tools);
  print(`Footlight ${from} → ${to}. Sessions continue during the upgrade.`);
  print('Saving the former release and its database');
  // Without compression, because it is read only if the upgrade fails.
  await run('mkdir', ['-p', '/var/cache/footlight']);
  await run('sh', [
    '-c',
    `cd /var/cache/footlight && rm -f *.deb && dpkg-repack --deb-option=-Znone ${PACKAGE} && mv *.deb ${OLD_PACKAGE}`,
  ]);
  // The service is stopped first, so that no change of a person falls between the saved database and the new release.
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
    await run('rm', ['-f', OLD_PACKAGE]);
    print(`Footlight ${to} runs. The former database is kept as ${DUMP} until the next upgrade.`);
    return 0;
  }
  print(`Footlight ${to} does not run: ${problem}`);
  print(`Putting back ${from}${sharesDatabase ? '' : ' and its database'}`);
  const failure = await putBack(sharesDatabase, tools);
  if (failure !== null) {
    print(`${from} does not run either: ${failure}`);
    print(`  → journalctl -u ${CONTROL_SERVICE} -n 50`);
    print(`  The former release is in ${OLD_PACKAGE}, and its database in ${DUMP}.`);
    return 2;
  }
  print(`Footlight ${from} runs again${sharesDatabase ? '' : ' with the data from before the upgrade'}.`);
  return 1;
}

/** @throws UpgradeRefused */
async function check(file: string, { run, sickness }: UpgradeTools): Promise<{ from: string; to: string }> {
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
  const sick = await sickness(0);
  if (sick !== null)
    throw new UpgradeRefused(
      `The installed release does not run (${sick}), so a failed upgrade could not be noticed. Repair it first, or install the file by \`dpkg -i\`.`,
    );
  return { from, to };
}

/** Installs the new release, which also migrates the database. @returns null, or why it does not run */
async function install(file: string, { run, sickness }: UpgradeTools): Promise<string | null> {
  try {
    await run('dpkg', ['-i', file]);
  } catch (error) {
    const log = await run('journalctl', ['-u', CONTROL_SERVICE, '-n', '50', '-o', 'cat', '--no-pager']);
    return log.split('\n').findLast((line) => line.includes('cannot start')) ?? errorText(error);
  }
  return sickness(HEALTH_LIMIT_MS);
}

/** @returns null, or why the former release does not run */
async function putBack(
  sharesDatabase: boolean,
  { run, runAsService, sickness }: UpgradeTools,
): Promise<string | null> {
  try {
    await run('systemctl', ['stop', CONTROL_SERVICE]);
    // Unpacked before it is configured, because the configuration starts it, and it needs the former database.
    await run('dpkg', ['--unpack', OLD_PACKAGE], { FOOTLIGHT_PUT_BACK: '1' });
    if (!sharesDatabase) await runAsService('restore', [DUMP]);
    await run('dpkg', ['--configure', PACKAGE]);
  } catch (error) {
    return errorText(error);
  }
  return sickness(HEALTH_LIMIT_MS);
}
