import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { pathToFileURL } from 'node:url';
import type { Clock } from '@footlight/platform';
import { readPaced } from '../../runtime/programs/child.ts';
import { CHANNEL_FD, MessageChannel, type MessageChannelEvents } from './message-channel.ts';

/** Environment variable with the pid of a child's parent. */
export const PARENT_PID_VARIABLE = 'FOOTLIGHT_PARENT_PID';

/**
 * Environment variable with the folder of built entries, for an agent that runs from source: otherwise each child
 * compiles its sources again (4 s instead of 1 s until a worker is warm, on two busy cores). Set by tests.
 */
export const BUILT_ENTRIES_VARIABLE = 'FOOTLIGHT_BUILT_ENTRIES';

/** File descriptor on which a media worker writes the encoded stream. The agent keeps the last minute of it. */
export const RECORDING_FD = 4;
/** File descriptor of a media worker for messages to the process that serves the files of a home. */
export const WORKER_FILES_FD = 5;

/** Most characters of a line of output. */
const MAX_LINE = 16 * 1024;
/**
 * Most lines of one chunk, which has at most 64 KiB; further ones are dropped. A flood of one-character lines blocked
 * this process for more than two seconds.
 */
const MAX_LINES = 64;
/**
 * Memory limit of a media worker, KiB. A worker used 217 MiB at 320×240 (VmData, Debian 12). All data that viewers and
 * apps can make it store is limited separately; this protects the host's memory if one of these limits is missing.
 */
const WORKER_KIB = 3 * 1024 * 1024;

/**
 * Programs of the agent that run in separate processes, with the folder of their source, relative to this one. In a
 * release, they are next to the agent.
 */
const SOURCES = {
  'worker-main': '.',
  'probe-main': '.',
  'recording-main': '.',
  'scan-main': '../../library',
  'files-main': '../../files',
} as const;
export type ChildEntry = keyof typeof SOURCES;

export interface ChildEntryOptions {
  /** Limits the rate at which output is read. */
  clock: Clock;
  args?: string[];
  /** Variables added to the inherited part of the agent's environment. */
  env?: Record<string, string>;
  /**
   * Gives the child its own IPC namespace and a memory limit; the child then writes an empty line. This process must be
   * root.
   */
  ownIpc?: boolean;
  /** Prefix of the child's command line: a program that sets limits and executes the rest. */
  within?: readonly string[];
  /** Further descriptors of the child, from 4 on: a pipe, or an open file of this process. */
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

/**
 * Starts one of the agent's programs with a message channel.
 *
 * When the agent runs from source, the child gets the TypeScript loader, or runs from the folder in
 * BUILT_ENTRIES_VARIABLE; a release has the entry as `<entry>.js` next to the bundle. stdin is closed; output is read
 * line by line even without a listener, because a full pipe would block the child.
 */
export function forkEntry(
  entry: ChildEntry,
  events: MessageChannelEvents,
  options: ChildEntryOptions,
): EntryProcess {
  const env: NodeJS.ProcessEnv = {
    ...passedOn(process.env),
    ...options.env,
    // A child that starts after its parent's death cannot detect it from its own ppid.
    [PARENT_PID_VARIABLE]: String(process.pid),
  };
  const isBuilt = !import.meta.url.endsWith('.ts');
  const built = isBuilt ? import.meta.dirname : env[BUILT_ENTRIES_VARIABLE];
  const file = built ? join(built, `${entry}.js`) : join(import.meta.dirname, SOURCES[entry], `${entry}.ts`);
  // unshare and sh exec node: process id and channel stay.
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
    // A worker becomes a session's user, so it must not share the agent's terminal.
    detached: true,
  });
  // Node omits the pipes if no descriptor is free; the child's error event follows.
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

/** The channel to the agent, in a program that forkEntry started. */
export function openParentChannel(events: MessageChannelEvents): MessageChannel {
  return new MessageChannel(new Socket({ fd: CHANNEL_FD, readable: true, writable: true }), events);
}

/**
 * Splits output into lines. A viewer may control the child, so an endless line is delivered in pieces and not stored.
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
 * Environment variables that a child may inherit: search paths, locale, time zone, and variables of node and the
 * media libraries. The agent's own variables include credentials and are not passed to a process that becomes a
 * session's user.
 */
const PASSED_ON =
  /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|DISPLAY|XAUTHORITY|XDG_\w+|PULSE_SERVER|LD_LIBRARY_PATH|FOOTLIGHT_\w+|GST_\w+|(G|DRI|MALLOC|ORC|LIBVA|CUDA|NVIDIA|MESA|VK|OPENSSL|NODE|TSX)_\w+)$/;

/** The variables that a child may inherit. */
export function passedOn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name)));
}

function loaderArguments(): string[] {
  // Resolved here, because the parent may run under another loader (a test runner).
  const loader = createRequire(import.meta.url).resolve('tsx');
  return ['--import', pathToFileURL(loader).href];
}
