import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { pathToFileURL } from 'node:url';
import { confineProcess } from '@footlight/gst/seccomp';
import type { Clock } from '@footlight/platform';
import { ioUringFilter } from '../../runtime/confinement/seccomp.ts';
import { readPaced } from '../../runtime/programs/child.ts';
import { CHANNEL_FD, MessageChannel, type MessageChannelEvents } from './message-channel.ts';

/** Environment variable with the pid of the parent process. */
export const PARENT_PID_VARIABLE = 'FOOTLIGHT_PARENT_PID';

/**
 * Environment variable with the folder of built programs, for an agent that runs from source. Without it, each child
 * process compiles its sources again (4 s instead of 1 s until a worker is warm, on two busy cores). Set by tests.
 */
export const BUILT_ENTRIES_VARIABLE = 'FOOTLIGHT_BUILT_ENTRIES';

/**
 * File descriptor on which a media worker writes the encoded stream. The agent stores the last minute of the stream.
 */
export const RECORDING_FD = 4;
/** File descriptor of a media worker for messages to the process that serves the files of a home. */
export const WORKER_FILES_FD = 5;

/** Longest line of output in characters. */
const MAX_LINE = 16 * 1024;
/**
 * Largest number of lines of one chunk, which has at most 64 KiB; further lines are dropped. Without this limit, a
 * flood of one-character lines blocked this process for more than two seconds.
 */
const MAX_LINES = 64;
/**
 * Memory limit of a media worker, KiB. A worker used 217 MiB at 320×240 (VmData, Debian 12). The data that a worker
 * stores for viewers and apps has separate limits. This limit protects the host's memory if one of the other limits is
 * missing.
 */
const WORKER_KIB = 3 * 1024 * 1024;

/**
 * Programs of the agent that run in separate processes, each with the folder of its source, relative to this folder. In
 * a release, they are in the same folder as the agent.
 */
const SOURCES = {
  'worker-main': '.',
  'probe-main': '.',
  'recording-main': '.',
  'fallback-main': '../fallback',
  'scan-main': '../../discovery',
  'files-main': '../../files',
  'preflight-main': '../../preflight',
} as const;
export type ChildEntry = keyof typeof SOURCES;

export interface ChildEntryOptions {
  /** Clock that limits the rate at which output is read. */
  clock: Clock;
  args?: string[];
  /** Variables added to the variables that the child inherits. */
  env?: Record<string, string>;
  /**
   * Whether the child gets its own IPC namespace and a memory limit. When both are set, the child writes an empty line.
   * Requires root.
   */
  ownIpc?: boolean;
  /** Prefix of the child's command line: a program that sets limits and then executes the rest of the line. */
  within?: readonly string[];
  /** Further descriptors of the child, starting at 4: a pipe, or an open file of this process. */
  descriptors?: readonly ('pipe' | number)[];
  /** Called with each output line of the child. */
  onOutput?: (line: string) => void;
}

/** One of the agent's programs. */
export interface EntryProcess {
  child: ChildProcess;
  /** null: the program could not be started. */
  channel: MessageChannel | null;
}

let ioUringIsRefused = false;

/**
 * Lets no later child process create an io_uring. Since Node 22, Node creates one at its start, and ends the process
 * when the system call filter that the child sets later refuses to use it. Only children of root set such a filter.
 * This also sets no_new_privs for the agent and its children, as the unit of the service does.
 */
function refuseIoUring(): void {
  if (ioUringIsRefused || process.getuid?.() !== 0) return;
  confineProcess(ioUringFilter());
  ioUringIsRefused = true;
}

/**
 * Starts one of the agent's programs with a message channel.
 *
 * When the agent runs from source, the child gets the TypeScript loader, or runs from the folder in
 * BUILT_ENTRIES_VARIABLE; in a release the program is `<entry>.js` next to the bundle. stdin is closed. Output is read
 * line by line even without a listener, because a full pipe would block the child.
 */
export function forkEntry(
  entry: ChildEntry,
  events: MessageChannelEvents,
  options: ChildEntryOptions,
): EntryProcess {
  refuseIoUring();
  const env: NodeJS.ProcessEnv = {
    ...passedOn(process.env),
    ...options.env,
    // Passed explicitly, because a child that starts after its parent's death cannot detect this by its own ppid.
    [PARENT_PID_VARIABLE]: String(process.pid),
  };
  const isBuilt = !import.meta.url.endsWith('.ts');
  const built = isBuilt ? import.meta.dirname : env[BUILT_ENTRIES_VARIABLE];
  const file = built ? join(built, `${entry}.js`) : join(import.meta.dirname, SOURCES[entry], `${entry}.ts`);
  // `unshare` and `sh` replace themselves by `node`, so process id and channel stay the same.
  const ownIpc = [
    'unshare',
    '--ipc',
    '--',
    '/bin/sh',
    '-c',
    `ulimit -d ${WORKER_KIB}; echo; exec "$@"`,
    'sh',
  ];
  const [program = '', ...words] = [
    ...(options.ownIpc ? ownIpc : []),
    ...(options.within ?? []),
    process.execPath,
    ...(built ? [] : loaderArguments()),
    file,
    ...(options.args ?? []),
  ];
  const child = spawn(program, words, {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(options.descriptors ?? [])],
    // A new session, because a worker changes to a session's user and must not share the agent's terminal.
    detached: true,
  });
  // If no descriptor is free, Node creates the child without pipes; its error event follows.
  if (child.stdio === undefined) Object.assign(child, { stdio: [], stdout: null, stderr: null });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream)
      void readPaced(
        stream,
        options.clock,
        linesOf((line) => options.onOutput?.(line)),
      );
  }
  const socket = child.stdio[CHANNEL_FD];
  return { child, channel: socket instanceof Socket ? new MessageChannel(socket, events) : null };
}

/** The channel to the agent, for a program that forkEntry started. */
export function openParentChannel(events: MessageChannelEvents): MessageChannel {
  return new MessageChannel(new Socket({ fd: CHANNEL_FD, readable: true, writable: true }), events);
}

/**
 * Splits output into lines. A viewer may have exploited the child, so an endless line is delivered in pieces instead of
 * being stored.
 */
function linesOf(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (chunk) => {
    const lines = `${rest}${decoder.write(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.slice(0, MAX_LINES)) onLine(line);
    if (rest.length < MAX_LINE) return;
    onLine(rest);
    rest = '';
  };
}

/**
 * Environment variables that a child may inherit: search paths, locale, time zone, and variables of Node and the media
 * libraries. The agent's own variables include credentials, so they are not passed to a process that changes to a
 * session's user.
 */
const PASSED_ON =
  /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|DISPLAY|XAUTHORITY|XDG_\w+|PULSE_SERVER|LD_LIBRARY_PATH|FOOTLIGHT_\w+|GST_\w+|(G|DRI|MALLOC|ORC|LIBVA|CUDA|NVIDIA|MESA|VK|OPENSSL|NODE|TSX)_\w+)$/;

/** Selects the variables that a child may inherit. */
export function passedOn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name)));
}

function loaderArguments(): string[] {
  // Resolved here, because the parent may use another loader, for example that of a test runner.
  const loader = createRequire(import.meta.url).resolve('tsx');
  return ['--import', pathToFileURL(loader).href];
}
