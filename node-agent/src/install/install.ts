import { dirname, join } from 'node:path';
import {
  type Environment,
  mergeEnvironment,
  readStoredEnvironment,
  renderEnvironment,
  startService,
  writeWhole,
} from '@footlight/platform';
import { type AgentConfig, homeRootOf, readConfig } from '../config/environment.ts';
import { settingBaseline } from '../config/setting-values.ts';
import { PRODUCT_ROOT } from '../install-location.ts';
import { AGENT_SERVICE, agentUnit } from './unit.ts';

export interface InstallPlaces {
  environmentFile: string;
  unitFile: string;
  /** Path of the command `footlight-agent`. */
  command: string;
}

export const INSTALL_PLACES: InstallPlaces = {
  environmentFile: '/etc/footlight/agent.env',
  unitFile: `/etc/systemd/system/${AGENT_SERVICE}`,
  command: '/usr/local/bin/footlight-agent',
};

/** Whether a variable belongs to the agent. */
const isOwn = (name: string): boolean => name.startsWith('SERVICE_') && !name.endsWith('_FILE');

/** Paths that the unit hides from the agent (ProtectHome=). */
const PEOPLES_HOMES = /^\/(home|root|run\/user)(\/|$)/;

/**
 * Installs this agent as a service: writes its environment, unit and the command `footlight-agent`, and starts it.
 * Repeatable: values of an earlier call stay if this call does not replace them, and the identity is kept.
 * @param env variables of this call; together with the stored ones they must be complete
 * @returns the exit code: 0 done, 1 the service does not start
 * @throws ConfigError for an invalid value; then nothing was written
 */
export async function install(
  env: Environment,
  print: (line: string) => void,
  places: InstallPlaces = INSTALL_PLACES,
): Promise<number> {
  if (process.getuid?.() !== 0) {
    print('Installing a service needs root: run this with sudo.');
    return 1;
  }
  const variables = mergeEnvironment(await readStoredEnvironment(places.environmentFile), env, isOwn);
  const config = readConfig(variables);
  const text = renderEnvironment(variables);
  const program = join(PRODUCT_ROOT, 'node-agent', 'dist', 'main.js');
  const unit = agentUnit({
    node: process.execPath,
    program,
    environmentFile: places.environmentFile,
    stateDir: config.stateDir,
    homePaths: pathsBelowHomes(config),
    lowPort: config.mediaFallbackPort !== null && config.mediaFallbackPort < 1024,
  });
  // Mode 0600, because the file may contain secrets, for example an unused token.
  await writeWhole(places.environmentFile, text, 0o600);
  await writeWhole(places.unitFile, unit, 0o644);
  await writeWhole(places.command, commandText(program, places), 0o755);
  print(`Written: ${places.unitFile}, ${places.environmentFile}, ${places.command}`);
  return startService(AGENT_SERVICE, print);
}

/** Paths below homes that the unit would hide but the agent needs: a checkout of the source, and files of apps. */
function pathsBelowHomes(config: AgentConfig): string[] {
  const wanted = [
    PRODUCT_ROOT.replace(/\/$/, ''),
    dirname(process.execPath),
    config.stateDir,
    homeRootOf(config, settingBaseline(config.hostSettings)),
    ...config.mountRoots.map(({ path }) => path),
  ].filter((path) => PEOPLES_HOMES.test(path));
  return [...new Set(wanted)].filter((path) => !wanted.some((other) => path.startsWith(`${other}/`)));
}

function commandText(program: string, { environmentFile }: InstallPlaces): string {
  const word = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;
  return `#!/bin/sh
# Written by \`footlight-agent install\`: the agent's own commands, with the environment of its service. The command
# \`diagnostics\` starts the test pattern as an app, whose user may not read this environment.
[ "\${1:-}" != diagnostics ] || exec ${word(process.execPath)} ${word(join(dirname(program), 'diagnostics.mjs'))}
[ -r ${word(environmentFile)} ] || { echo "Run this as root: sudo footlight-agent $*" >&2; exit 1; }
exec ${word(process.execPath)} ${word(`--env-file=${environmentFile}`)} ${word(program)} "$@"
`;
}
