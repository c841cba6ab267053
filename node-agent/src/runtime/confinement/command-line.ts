import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP_VARIABLE, SESSION_VARIABLE } from '../proc-table.ts';
import type { AppContext, SessionDirs, SessionUser } from '../runtime.ts';
import { appFilter } from './seccomp.ts';

/**
 * Command line of a session's helper. The helper runs as the session's user (null: with the agent's rights) and is
 * killed when its parent ends.
 *
 * A change of user clears the parent-death signal (prctl(2), PR_SET_PDEATHSIG), so one call of setpriv does both in the
 * right order.
 */
export function asSessionUser(user: SessionUser | null, argv: readonly string[]): string[] {
  return ['setpriv', ...userOptions(user), '--pdeathsig', 'KILL', '--', ...argv];
}

/**
 * Limits a helper's own memory (RLIMIT_DATA): helpers store data of apps, which does not count towards the app's limits
 * and could exhaust the host's memory.
 */
export function withMemoryLimit(bytes: number, argv: readonly string[]): string[] {
  return ['prlimit', `--data=${bytes}`, '--', ...argv];
}

/** setpriv options of a user; empty for the agent's user. */
export function userOptions(user: SessionUser | null): string[] {
  if (user === null) return [];
  const groups = user.groups.length > 0 ? ['--groups', user.groups.join(',')] : ['--clear-groups'];
  // With PR_SET_NO_NEW_PRIVS (prctl(2)), setuid programs gain no rights. If the agent has SETPCAP, setpriv also drops
  // the bounding set, so that no program of the session can regain a capability.
  const noCapabilities = mayDropBounds() ? ['--bounding-set=-all'] : [];
  return [
    ...['--reuid', String(user.uid), '--regid', String(user.gid), ...groups],
    ...['--inh-caps=-all', ...noCapabilities, '--no-new-privs'],
  ];
}

const CAP_SETPCAP = 8n;

function mayDropBounds(): boolean {
  const effective = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SETPCAP) & 1n) === 1n;
}

export const PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games';

/** Base environment of a session's processes. It contains only the locale of the agent's environment. */
export function baseEnvironment(agentEnv: NodeJS.ProcessEnv): Record<string, string> {
  const env: Record<string, string> = { PATH, LANG: agentEnv.LANG ?? 'C.UTF-8' };
  for (const name of ['TZ', 'LC_ALL', 'LC_CTYPE']) {
    const value = agentEnv[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/**
 * Command line that runs an app in its home with its environment, without changing the user. Programs that precede the
 * app may run as root, and variables such as LD_PRELOAD would make them run untrusted code. Therefore env(1) sets the
 * app's variables from its arguments, which local users of the host can read. When the host runs out of memory, the
 * kernel ends an app before the agent and other sessions.
 */
export function appLine(
  home: string,
  env: Readonly<Record<string, string>>,
  argv: readonly string[],
): string[] {
  return [...withEnvironment(home, env), hostProgram('choom'), '-n', '500', '--', ...argv];
}

/** Command line that starts a program in a directory with an environment. */
export function withEnvironment(dir: string, env: Readonly<Record<string, string>>): string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ['env', '--ignore-environment', '--chdir', dir, '--', ...variables];
}

/** Which system calls the filter of an app or a helper refuses. */
export type Confinement = 'own_sandbox' | 'no_user_namespaces';

export const FILTERS: Readonly<Record<Confinement, Buffer>> = {
  own_sandbox: appFilter(true),
  no_user_namespaces: appFilter(false),
};

/** Path of a host program, searched in the PATH of apps; if it is not found, the name itself. */
export function hostProgram(name: string): string {
  const places = PATH.split(':').map((dir) => join(dir, name));
  return places.find((path) => existsSync(path)) ?? name;
}

/**
 * Environment of the programs that start an app: only the variables that cleanup searches for. It excludes the app's
 * variables, because some of these programs run as root.
 */
export function launchEnvironment({
  sessionId,
  instance,
}: Pick<AppContext, 'sessionId' | 'instance'>): Record<string, string> {
  return { PATH, [SESSION_VARIABLE]: sessionId, [APP_VARIABLE]: instance };
}

/** Environment of a session's helpers: display server, sound server, window manager. */
export function helperEnvironment(
  agentEnv: NodeJS.ProcessEnv,
  sessionId: string,
  dirs: SessionDirs,
): Record<string, string> {
  return {
    ...baseEnvironment(agentEnv),
    HOME: dirs.home,
    TMPDIR: dirs.tmp,
    XDG_RUNTIME_DIR: dirs.run,
    XAUTHORITY: dirs.xauthority,
    [SESSION_VARIABLE]: sessionId,
  };
}
