import { SESSION_VARIABLE } from './proc-table.ts';
import type { SessionDirs, SessionUser } from './runtime.ts';

/**
 * Command line for a helper of a session: it takes the session's user and dies with this agent.
 *
 * A change of user clears the parent-death signal (prctl(2), PR_SET_PDEATHSIG), so one setpriv does both: it sets
 * the signal after the user.
 */
export function asSessionUser(user: SessionUser | null, argv: readonly string[]): string[] {
  return ['setpriv', ...userOptions(user), '--pdeathsig', 'KILL', '--', ...argv];
}

/** setpriv options that take a user; none when the agent's own is kept. */
export function userOptions(user: SessionUser | null): string[] {
  if (user === null) return [];
  const groups = user.groups.length > 0 ? ['--groups', user.groups.join(',')] : ['--clear-groups'];
  // Programs with the setuid bit stay what their caller is: prctl(2), PR_SET_NO_NEW_PRIVS.
  return ['--reuid', String(user.uid), '--regid', String(user.gid), ...groups, '--no-new-privs'];
}

const PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games';

/** The environment that every process of a session starts from; nothing of the agent's own gets in. */
export function baseEnvironment(agentEnv: NodeJS.ProcessEnv): Record<string, string> {
  const env: Record<string, string> = { PATH, LANG: agentEnv.LANG ?? 'C.UTF-8' };
  for (const name of ['TZ', 'LC_ALL', 'LC_CTYPE']) {
    const value = agentEnv[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
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
