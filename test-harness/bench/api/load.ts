import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from '../../src/stack/program.ts';

/** Cores of a bench. The measured server (subject or reference) runs alone on the first core. */
export const CORES = { server: 0, load: 1 } as const;

/**
 * True when processes can be pinned to cores. Without pinning, the server and the load generator share cores, and the
 * figures mean little.
 */
const PINNABLE = process.platform === 'linux';

export interface LoadRequestLine {
  method?: string;
  path: string;
  token?: string;
  /** Client address that the proxy reports. */
  forwardedFor?: string;
  body?: string;
  /** File with the expected body; absent: the body is not compared. */
  expectFile?: string;
}

export interface LoadJob {
  url: string;
  /** Requests of each connection. A connection sends them one after the other, and then repeats the list. */
  connections: LoadRequestLine[][];
  /** null: there is no time limit, and every connection sends its list `repeat` times. */
  seconds: number | null;
  repeat: number;
}

export interface LoadFigures {
  requests: number;
  seconds: number;
  /** Failed, refused or unexpected responses. */
  wrong: number;
  /** Duration of each request in milliseconds, in the order of the responses. */
  times: number[];
}

/** Child process of the bench. */
export interface Worker {
  readonly pid: number;
  /** Next line of standard output. @throws after the process has ended */
  line(): Promise<string>;
  send(line: string): void;
  stop(): Promise<void>;
}

/** Starts a program of this repository on one core; null: on any core. Plain JavaScript runs without a loader. */
export function startWorker(
  core: number | null,
  file: string,
  words: string[] = [],
  env: Record<string, string> = {},
): Worker {
  const command = [
    process.execPath,
    ...(file.endsWith('.ts')
      ? ['--import', path.join(repositoryRoot, 'node_modules', 'tsx', 'dist', 'loader.mjs')]
      : []),
    path.join(repositoryRoot, file),
    ...words,
  ];
  const child = spawnPinned(core, command, env);
  const lines = child.stdout ? createInterface({ input: child.stdout })[Symbol.asyncIterator]() : null;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (child.pid === undefined) throw new Error(`${file} did not start`);
  return {
    pid: child.pid,
    async line() {
      const next = await lines?.next();
      if (next === undefined || next.done) throw new Error(`${file} ended early`);
      return next.value;
    },
    send: (line) => void child.stdin?.write(`${line}\n`),
    async stop() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** With PDEATHSIG the kernel kills the children when the bench is killed. */
function spawnPinned(core: number | null, command: string[], env: Record<string, string>): ChildProcess {
  const pin = PINNABLE && core !== null ? ['taskset', '-c', String(core)] : [];
  const [program = '', ...words] = ['setpriv', '--pdeathsig', 'KILL', '--', ...pin, ...command];
  return spawn(program, words, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** The load generator. */
export interface Load {
  run(job: LoadJob): Promise<LoadFigures>;
  stop(): Promise<void>;
}

export function startLoad(): Load {
  const worker = startWorker(CORES.load, 'test-harness/bench/api/load-main.ts');
  return {
    async run(job) {
      worker.send(JSON.stringify(job));
      const figures = JSON.parse(await worker.line()) as LoadFigures;
      if (figures.wrong > 0) {
        throw new Error(
          `${figures.wrong} of ${figures.requests} answers of ${job.url} were wrong or missing`,
        );
      }
      return figures;
    },
    stop: () => worker.stop(),
  };
}

/** CPU time of a process and all its threads since its start, in milliseconds. */
export function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(tasks).map((task) => {
    const [ran] = readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ');
    return Number(ran);
  });
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}
