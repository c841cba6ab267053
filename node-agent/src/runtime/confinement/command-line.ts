import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP_VARIABLE, SESSION_VARIABLE } from '../proc-table.ts';
import type { AppContext, SessionDirs, SessionUser } from '../runtime.ts';
import { appFilter, sharedPortsFilter } from './seccomp.ts';

/**
 * Command line of a session's helper: changes to the session's user, sets a seccomp filter, and dies with this agent.
 * Without a user it keeps the agent's rights.
 * @param enter command prefix that enters the session's namespaces; needs the agent's user
 *
 * A change of user clears the parent-death signal (prctl(2), PR_SET_PDEATHSIG), so one setpriv does both in the right
 * order.
 */
export function asSessionUser(
  { user, enter }: { user: SessionUser | null; enter: readonly string[] },
  argv: readonly string[],
): string[] {
  const command = user === null ? argv : confined(argv);
  return [...enter, 'setpriv', ...userOptions(user), '--pdeathsig', 'KILL', '--', ...command];
}

/** Runs a helper with the apps' filter, because an app may try to take it over. */
function confined(argv: readonly string[]): string[] {
  return withFilter(FILTERS.no_user_namespaces, argv);
}

/** Runs a program that can take no port where another socket is. */
export function withPrivatePorts(argv: readonly string[]): string[] {
  return withFilter(sharedPortsFilter().toString('hex'), argv);
}

function withFilter(filter: string, argv: readonly string[]): string[] {
  const script = `${confineScript()}confine(shift @ARGV); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\\n";`;
  return ['perl', '-e', script, '--', filter, ...argv];
}

/**
 * Limits a helper's own memory (RLIMIT_DATA): helpers store data of apps outside the app's limits, and could exhaust
 * the host's memory.
 */
export function withMemoryLimit(bytes: number, argv: readonly string[]): string[] {
  return ['prlimit', `--data=${bytes}`, '--', ...argv];
}

/** setpriv options of a user; empty for the agent's user. */
export function userOptions(user: SessionUser | null): string[] {
  if (user === null) return [];
  const groups = user.groups.length > 0 ? ['--groups', user.groups.join(',')] : ['--clear-groups'];
  // Setuid programs get no rights: prctl(2), PR_SET_NO_NEW_PRIVS. No program of the session can regain a capability
  // either, if the agent has SETPCAP to drop them.
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

/** Base environment of a session's processes; contains nothing of the agent's own. */
export function baseEnvironment(agentEnv: NodeJS.ProcessEnv): Record<string, string> {
  const env: Record<string, string> = { PATH, LANG: agentEnv.LANG ?? 'C.UTF-8' };
  for (const name of ['TZ', 'LC_ALL', 'LC_CTYPE']) {
    const value = agentEnv[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/**
 * Command line that runs an app with an environment from its stdin (`environmentInput`) and a session bus, by
 * run-app.pl. The script is part of the line, because the session's user may not be able to read the agent's files.
 * @param bus path of dbus-daemon; "" = no bus
 */
export function appLine(bus: string, confinement: Confinement, argv: readonly string[]): string[] {
  runApp ??= confineScript() + readFileSync(new URL('run-app.pl', import.meta.url), 'utf8');
  return ['perl', '-e', runApp, '--', bus, FILTERS[confinement], ...argv];
}

/** Further restrictions of an app and its children. */
export type Confinement = 'none' | 'own_sandbox' | 'no_user_namespaces';

const FILTERS: Readonly<Record<Confinement, string>> = {
  none: '',
  own_sandbox: appFilter(true).toString('hex'),
  no_user_namespaces: appFilter(false).toString('hex'),
};
let runApp: string | null = null;
let confine: string | null = null;

function confineScript(): string {
  confine ??= readFileSync(new URL('confine.pl', import.meta.url), 'utf8');
  return confine;
}

/** Path of a host program for a command line with an app's PATH; the name itself if not found. */
export function hostProgram(name: string): string {
  const places = PATH.split(':').map((dir) => join(dir, name));
  return places.find((path) => existsSync(path)) ?? name;
}

/** @param env names and values without NUL */
export function environmentInput(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}\0`)
    .join('');
}

/**
 * Environment of the programs between agent and app: the marks for cleanup, without the app's variables, because some
 * of these programs run as root.
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
