import type { Readable } from 'node:stream';
import { execa } from 'execa';

const OUTPUT_TICK_MS = 50;
const OUTPUT_BYTES_PER_TICK = 512 * 1024;

export interface ChildExit {
  /** null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process of this agent. Owner: its starter, which must await `exited` before it lets go. */
export interface Child {
  readonly pid: number;
  /** Settles once, when the process itself is gone; grandchildren may still hold its output. */
  readonly exited: Promise<ChildExit>;
  /** Settles when its output has been read to the end, which may be after its exit: others may hold the pipe. */
  readonly drained: Promise<void>;
  /** false once it has exited. */
  readonly alive: boolean;
  signal(signal: NodeJS.Signals): void;
}

export interface ChildOptions {
  env: Record<string, string>;
  cwd?: string;
  /** What the child reads from its stdin; left out: nothing. */
  input?: string;
  /** Receives stdout and stderr; without it both go nowhere. */
  onOutput?: (chunk: Buffer) => void;
  /** Gives the child one more pipe as descriptor 3: what it writes there comes to `onReport`. */
  onReport?: (chunk: Buffer) => void;
  /** Gives the child descriptor 3 as a pipe that reads end-of-file when this process is gone. */
  lifeline?: boolean;
}

/**
 * Starts a program from an argument list; no shell ever reads it, and only `env` is inherited. It is the head of a
 * process group and session of its own, without a terminal: an app that shares the terminal of the person who started the
 * agent could type commands into it (ioctl_tty(2), TIOCSTI).
 * @throws when the program cannot be started at all
 */
export async function startChild(argv: readonly string[], options: ChildOptions): Promise<Child> {
  const [file = '', ...args] = argv;
  const output = options.onOutput ? ('pipe' as const) : ('ignore' as const);
  const third = options.onReport || options.lifeline ? (['pipe'] as const) : [];
  const subprocess = execa(file, args, {
    env: options.env,
    extendEnv: false,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.input === undefined ? {} : { input: options.input }),
    stdio: [options.input === undefined ? 'ignore' : 'pipe', output, output, ...third] as [
      'ignore',
      'pipe',
      'pipe',
    ],
    detached: true,
    buffer: false,
    reject: false,
    cleanup: false,
  });
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
  // Its own promise also waits for the output of grandchildren, which `exited` must not.
  subprocess.catch(() => undefined);
  const drained: Promise<void>[] = [];
  if (options.onOutput) {
    for (const stream of [subprocess.stdout, subprocess.stderr]) {
      if (stream) drained.push(readPaced(stream, options.onOutput));
    }
  }
  const report = (subprocess.stdio as (Readable | null | undefined)[])[3];
  report?.on('error', () => undefined);
  if (options.onReport) report?.on('data', options.onReport);
  const pid = subprocess.pid;
  if (pid === undefined) throw new Error(`${file} could not be started`);
  return {
    pid,
    exited,
    drained: Promise.all(drained).then(() => undefined),
    get alive() {
      return alive;
    },
    signal: (signal) => {
      if (alive) sendSignal(pid, signal);
    },
  };
}

/**
 * Reads output at a pace: a program that floods it waits on its own full pipe, and this process stays awake.
 */
function readPaced(stream: Readable, onOutput: (chunk: Buffer) => void): Promise<void> {
  let budget = OUTPUT_BYTES_PER_TICK;
  stream.on('data', (chunk: Buffer) => {
    onOutput(chunk);
    budget -= chunk.length;
    if (budget > 0) return;
    stream.pause();
    setTimeout(() => {
      budget = OUTPUT_BYTES_PER_TICK;
      stream.resume();
    }, OUTPUT_TICK_MS).unref();
  });
  stream.on('error', () => undefined);
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

/** kill(2) that does not mind when the process is gone already. A negative pid is a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile, which is what was wanted.
  }
}
