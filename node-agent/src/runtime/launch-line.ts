import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP_VARIABLE, SESSION_VARIABLE } from './proc-table.ts';
import type { AppSurroundings, SessionDirs, SessionUser } from './runtime.ts';
import { appFilter } from './seccomp.ts';

/**
 * Command line for a helper of a session: it takes the session's user, behind a seccomp filter, and dies with this agent.
 * Without a user of its own it keeps what the agent may.
 * @param enter words that take it into the session's namespaces; they need the agent's user
 *
 * A change of user clears the parent-death signal (prctl(2), PR_SET_PDEATHSIG), so one setpriv does both: it sets
 * the signal after the user.
 */
export function asSessionUser(
  { user, enter }: { user: SessionUser | null; enter: readonly string[] },
  argv: readonly string[],
): string[] {
  const command = user === null ? argv : confined(argv);
  return [...enter, 'setpriv', ...userOptions(user), '--pdeathsig', 'KILL', '--', ...command];
}

/** A helper behind the filter of apps: what an app sends it may be meant to take it over. */
function confined(argv: readonly string[]): string[] {
  const script = `${confineScript()}confine(shift @ARGV); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\\n";`;
  return ['perl', '-e', script, '--', FILTERS.no_user_namespaces, ...argv];
}

/**
 * A helper with a bound on the memory that it takes for itself (RLIMIT_DATA), for those that keep what an app tells them
 * to: an app's own limits do not hold for them, and what they took could end other programs of the host.
 */
export function withMemoryLimit(bytes: number, argv: readonly string[]): string[] {
  return ['prlimit', `--data=${bytes}`, '--', ...argv];
}

/** setpriv options that take a user; none when the agent's own is kept. */
export function userOptions(user: SessionUser | null): string[] {
  if (user === null) return [];
  const groups = user.groups.length > 0 ? ['--groups', user.groups.join(',')] : ['--clear-groups'];
  // Programs with the setuid bit stay what their caller is: prctl(2), PR_SET_NO_NEW_PRIVS. No program of the session
  // can get a capability back either, as far as this agent may forbid it: that takes SETPCAP.
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

/** The environment that every process of a session starts from; nothing of the agent's own gets in. */
export function baseEnvironment(agentEnv: NodeJS.ProcessEnv): Record<string, string> {
  const env: Record<string, string> = { PATH, LANG: agentEnv.LANG ?? 'C.UTF-8' };
  for (const name of ['TZ', 'LC_ALL', 'LC_CTYPE']) {
    const value = agentEnv[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/**
 * Command line that runs an app with an environment that comes from its stdin (`environmentInput`), and with a session
 * bus, as run-app.pl says. The script travels in the line, because the session's user may not be able to read the
 * agent's files.
 * @param bus path of dbus-daemon; "" = without a bus
 */
export function appLine(bus: string, confinement: Confinement, argv: readonly string[]): string[] {
  runApp ??= confineScript() + readFileSync(new URL('run-app.pl', import.meta.url), 'utf8');
  return ['perl', '-e', runApp, '--', bus, FILTERS[confinement], ...argv];
}

/** What an app and everything that it starts is forbidden besides. */
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

/**
 * Where one of the host's own programs is, for a command line that is run with an app's PATH; the name alone where it
 * is nowhere.
 */
export function hostProgram(name: string): string {
  const places = PATH.split(':').map((dir) => join(dir, name));
  return places.find((path) => existsSync(path)) ?? name;
}

/** @param env neither names nor values hold a NUL */
export function environmentInput(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}\0`)
    .join('');
}

/**
 * The environment of the programs between the agent and an app, some of which run as root: nothing of the app's, but
 * the marks that leftovers are found by.
 */
export function launchEnvironment({
  sessionId,
  instance,
}: Pick<AppSurroundings, 'sessionId' | 'instance'>): Record<string, string> {
  return { PATH, [SESSION_VARIABLE]: sessionId, [APP_VARIABLE]: instance };
}

/** The environment of a helper of a session: its display server, sound server and window manager. */
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
