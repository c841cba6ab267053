import type { Duplex, Readable, Writable } from 'node:stream';
import { type Clock, delay } from '@footlight/platform';
import { execa } from 'execa';
import { withPatience } from '../../patience.ts';
import './failed-spawns.ts';

/**
 * Limits reading to 10 MB/s per program. Ordinary programs write less; the limit bounds the work that a flood of output
 * causes.
 */
const OUTPUT_TICK_MS = 50;
const OUTPUT_BYTES_PER_TICK = 512 * 1024;
/**
 * SIGKILL is sent repeatedly for one second. Most processes end after the first round; a process that survives is
 * blocked in the kernel.
 */
const KILL_ROUNDS = withPatience(100);
const KILL_PERIOD_MS = 10;

export interface ChildExit {
  /** Exit status; null: a signal ended the process. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process of this agent. Owner: its starter, which must await `exited`. */
export interface Child {
  readonly pid: number;
  /** Settles once, when the process has exited; its children may still keep its output open. */
  readonly exited: Promise<ChildExit>;
  /** Settles at the end of the output. This may be after the exit, because other processes may keep the pipe open. */
  readonly drained: Promise<void>;
  /** Whether the process has not exited yet. */
  readonly alive: boolean;
  /** stdin of the process if `lifeline` is set, and its further pipes. */
  readonly stdin: Writable | null;
  readonly pipes: readonly Duplex[];
  signal(signal: NodeJS.Signals): void;
}

export type ChildOptions = ChildSettings & ChildOutput;

interface ChildSettings {
  env: Record<string, string>;
  cwd?: string;
  /**
   * Whether to keep the program's stdin open, so that the program reads end-of-file when this process ends. Missing:
   * stdin is empty.
   */
  lifeline?: boolean;
  /** Opens a pipe as descriptor 3; onReport receives the pipe's content. */
  onReport?: (chunk: Buffer) => void;
  /** Number of further pipes; their descriptors start at 4. */
  pipes?: number;
}

type ChildOutput =
  | { onOutput?: undefined; clock?: undefined }
  | {
      /** Receives stdout and stderr; missing: the output is discarded. */
      onOutput: (chunk: Buffer) => void;
      /** If present, the rate of reading is limited. */
      clock: Pick<Clock, 'setTimeout'>;
    };

/**
 * Starts a program from an argument list without a shell; its environment contains only `env`. The program leads a new
 * process group and a session without a terminal, because an app could otherwise type commands into the terminal of the
 * person who started the agent (ioctl_tty(2), TIOCSTI).
 * @throws when the program cannot be started
 */
export async function startChild(argv: readonly string[], options: ChildOptions): Promise<Child> {
  const [file = '', ...args] = argv;
  const output = options.onOutput ? ('pipe' as const) : ('ignore' as const);
  const third = options.onReport ? ('pipe' as const) : ('ignore' as const);
  const more = options.pipes ? [third, ...Array<'pipe'>(options.pipes).fill('pipe')] : [third];
  const begin = () =>
    execa(file, args, {
      env: options.env,
      extendEnv: false,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: [options.lifeline ? 'pipe' : 'ignore', output, output, ...more] as ['ignore', 'pipe', 'pipe'],
      detached: true,
      buffer: false,
      reject: false,
      cleanup: false,
    });
  let subprocess: ReturnType<typeof begin>;
  try {
    subprocess = begin();
  } catch {
    // The library throws only for these two reasons; it reports other failures as an event.
    throw new Error(`${file} could not be started: too many open files, or a NUL in its arguments`);
  }
  let alive = true;
  const exited = new Promise<ChildExit>((resolve) => {
    subprocess.once('exit', (code, signal) => {
      alive = false;
      resolve({ code, signal });
    });
    subprocess.once('error', () => {
      if (subprocess.pid !== undefined) return;
      alive = false;
      resolve({ code: 127, signal: null });
    });
  });
  // Prevents an unhandled rejection. The library's promise is not used, because it also waits for the output of
  // grandchildren.
  subprocess.catch(() => undefined);
  const drained: Promise<void>[] = [];
  if (options.onOutput) {
    for (const stream of [subprocess.stdout, subprocess.stderr]) {
      if (stream) drained.push(readPaced(stream, options.clock, options.onOutput));
    }
  }
  const streams = subprocess.stdio as unknown as (Duplex | null | undefined)[];
  const report: Readable | null | undefined = streams[3];
  // Errors of pipes are ignored, because a program that ends early resets its pipes.
  for (const stream of streams) stream?.on('error', () => undefined);
  if (options.onReport && report) {
    // The rate is limited, because an app may control this program.
    if (options.clock) void readPaced(report, options.clock, options.onReport);
    else report.on('data', options.onReport);
  }
  const pid = subprocess.pid;
  if (pid === undefined) throw new Error(`${file} could not be started`);
  return {
    pid,
    exited,
    drained: Promise.all(drained).then(() => undefined),
    get alive() {
      return alive;
    },
    stdin: (options.lifeline ? streams[0] : null) ?? null,
    pipes: streams.slice(4) as Duplex[],
    signal: (signal) => {
      if (alive) sendSignal(pid, signal);
    },
  };
}

/**
 * Limits the rate of reading: a program with too much output blocks on its full pipe, and this process stays
 * responsive.
 */
export function readPaced(
  stream: Readable,
  clock: Pick<Clock, 'setTimeout'>,
  onOutput: (chunk: Buffer) => void,
): Promise<void> {
  let budget = OUTPUT_BYTES_PER_TICK;
  stream.on('data', (chunk: Buffer) => {
    onOutput(chunk);
    budget -= chunk.length;
    if (budget > 0) return;
    stream.pause();
    clock.setTimeout(() => {
      budget = OUTPUT_BYTES_PER_TICK;
      stream.resume();
    }, OUTPUT_TICK_MS);
  });
  stream.on('error', () => undefined);
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

/** Sends a signal, and ignores a missing process. A negative pid means a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}

/** Largest number of process ids in the error of an app that does not end. An app may have thousands of processes. */
const MAX_NAMED_PROCESSES = 20;

/** The error for an app with processes that SIGKILL does not end. */
export function notEnded(pids: readonly number[]): Error {
  const named = pids.slice(0, MAX_NAMED_PROCESSES).join(', ');
  const more = pids.length - MAX_NAMED_PROCESSES;
  return new Error(`the app does not end; its processes: ${named}${more > 0 ? `, and ${more} more` : ''}`);
}

/**
 * Sends SIGKILL in rounds until no process is left, for at most a second.
 * @param kill sends SIGKILL to the remaining processes, and returns whether no process was left
 * @param ended ends the wait for the next round early
 * @returns whether no process is left
 */
export async function killUntilGone(
  clock: Clock,
  kill: () => boolean,
  ended?: Promise<unknown>,
): Promise<boolean> {
  for (let round = 0; round < KILL_ROUNDS; round++) {
    if (kill()) return true;
    const pause = delay(clock, KILL_PERIOD_MS);
    await (ended ? Promise.race([ended, pause]) : pause);
  }
  return false;
}
