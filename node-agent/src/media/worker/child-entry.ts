import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** Environment variable with the pid of who forked a child. */
export const PARENT_PID_VARIABLE = 'FOOTLIGHT_PARENT_PID';

/**
 * Environment variable with the folder of the built entries, for an agent that runs from source: each of its processes
 * would compile all of it again (4 s instead of 1 s until a worker is warm, on two busy cores). Tests set it.
 */
export const BUILT_ENTRIES_VARIABLE = 'FOOTLIGHT_BUILT_ENTRIES';

/**
 * Data of a media worker, KiB. One had 217 MiB at 320×240 (VmData, Debian 12). What viewers and apps can have it keep is bounded
 * one by one; this bounds what was overlooked, before it takes the memory of the host.
 */
const WORKER_KIB = 3 * 1024 * 1024;

/** Programs of the agent that run in a process of their own; each is a file beside this one. */
export type ChildEntry = 'worker-main' | 'probe-main';

export interface ChildEntryOptions {
  args?: string[];
  /** On top of what is passed on of the agent's own environment. */
  env?: Record<string, string>;
  /** Gives it an IPC namespace of its own and a limit on its memory, and it writes an empty line when it has it; this process must be root. */
  ownIpc?: boolean;
  /** Called with each line that the child writes to stdout or stderr. */
  onOutput?: (line: string) => void;
}

/**
 * Forks one of the agent's own programs with an IPC channel.
 *
 * From source, the child gets the TypeScript loader, or is one of BUILT_ENTRIES_VARIABLE; a release has the entry built
 * as `<entry>.js` beside the bundle. stdin is closed; output comes line by line to onOutput and is read even when
 * nobody listens, because a full pipe would stop the child.
 */
export function forkEntry(entry: ChildEntry, options: ChildEntryOptions = {}): ChildProcess {
  const env: NodeJS.ProcessEnv = {
    ...passedOn(process.env),
    ...options.env,
    [PARENT_PID_VARIABLE]: String(process.pid),
  };
  const isBuilt = !import.meta.url.endsWith('.ts');
  const built = isBuilt ? import.meta.dirname : env[BUILT_ENTRIES_VARIABLE];
  const file = join(built || import.meta.dirname, `${entry}.${built ? 'js' : 'ts'}`);
  const forkOptions: ForkOptions = {
    // A child that starts up when its parent is gone already could not tell by its own ppid.
    env,
    // unshare and sh become node: the process id and the channel stay.
    ...(options.ownIpc ? { execPath: 'unshare' } : {}),
    execArgv: [
      ...(options.ownIpc
        ? ['--ipc', '--', '/bin/sh', '-c', `ulimit -d ${WORKER_KIB}; echo; exec "$@"`, 'sh', process.execPath]
        : []),
      ...(built ? [] : loaderArguments()),
    ],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A worker becomes a session's user: it must not share the terminal that the agent was started in.
    detached: true,
  };
  const child = fork(file, options.args ?? [], forkOptions);
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => options.onOutput?.(line));
  }
  return child;
}

/**
 * Variables that a program of the agent may need: where it finds programs and files, locale and time zone, and
 * whatever steers node and the native libraries of media. The agent's own, its credentials among them, are not for a
 * process that becomes a session's user.
 */
const PASSED_ON =
  /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|DISPLAY|XAUTHORITY|XDG_\w+|PULSE_SERVER|LD_LIBRARY_PATH|FOOTLIGHT_\w+|GST_\w+|(G|DRI|MALLOC|ORC|LIBVA|CUDA|NVIDIA|MESA|VK|OPENSSL|NODE|TSX)_\w+)$/;

/** Pure. */
export function passedOn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name)));
}

function loaderArguments(): string[] {
  // Resolved here, because the parent may run under another loader (a test runner) that is of no use there.
  const loader = createRequire(import.meta.url).resolve('tsx');
  return ['--import', pathToFileURL(loader).href];
}
