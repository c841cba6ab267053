import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { delay, systemClock } from '@footlight/platform';

/** Root of this checkout. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Arguments for Node that run a program from source.
 * @param preload modules below the repository that are loaded first
 */
export function fromSource(...preload: string[]): string[] {
  const inRepository = (file: string) => pathToFileURL(path.join(repositoryRoot, file)).href;
  const loader = pathToFileURL(createRequire(inRepository('package.json')).resolve('tsx')).href;
  return [loader, ...preload.map(inRepository)].flatMap((module) => ['--import', module]);
}

/** A Footlight program, started by its script as an operator does and configured only by environment variables. */
export interface Program {
  readonly pid: number;
  readonly logFile: string;
  log(): string;
  /** Resolves after the exit. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/**
 * @param script path below scripts/, or an absolute path
 * @param env environment variables in addition to PATH, HOME and the id of the test run
 * @param core only CPU core of the program; null: all
 * @param uid user id, with the group of the same number; null: the tests' user
 */
export function startProgram(
  script: string,
  words: string[],
  env: Record<string, string>,
  logFile: string,
  core: number | null = null,
  uid: number | null = null,
): Program {
  const log = createWriteStream(logFile, { flags: 'a' });
  const inherited: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'LANG', 'FOOTLIGHT_TEST_RUN']) {
    const value = process.env[name];
    if (value !== undefined) inherited[name] = value;
  }
  const pinned = core === null ? [] : ['taskset', '-c', String(core)];
  const user = uid === null ? [] : ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  // With PDEATHSIG the kernel kills the program when the test run is killed.
  const child: ChildProcess = spawn(
    'setpriv',
    [
      ...user,
      '--pdeathsig',
      'KILL',
      '--',
      ...pinned,
      path.resolve(repositoryRoot, 'scripts', script),
      ...words,
    ],
    { env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      log.end();
      resolve({ code, signal });
    });
  });
  if (child.pid === undefined) throw new Error(`scripts/${script} did not start`);
  return {
    pid: child.pid,
    logFile,
    log: () => readFileSync(logFile, 'utf8'),
    exited,
    async kill(signal) {
      child.kill(signal);
      await exited;
    },
  };
}

/** null: the port is not open yet. */
export function isListening(port: number): Promise<true | null> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(null));
  });
}

/** A free TCP port. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === 'object'
          ? resolve(address.port)
          : reject(new Error('no port')),
      );
    });
  });
}

/**
 * Interval between two polls of a program, which is a separate process and sends no events. Polling a picture makes the
 * browser render it once more, so more polls would take CPU time from the awaited result.
 */
const POLL_MS = 100;

/**
 * Default limit of a wait. A busy machine may need tens of seconds longer. After a minute the awaited result counts as
 * missing.
 */
export const PATIENCE_MS = 60_000;

/**
 * The awaited result did not arrive in time. `scripts/test` retries an end-to-end file once, and only after this error.
 * A wrong value must therefore never be reported with this error.
 */
export class ExpiredWait extends Error {
  override readonly name = 'ExpiredWait';
}

/**
 * Polls `probe` until the value is not null or undefined.
 * @throws ExpiredWait with `what` and the last error after `limitMs`
 */
export async function eventually<T>(
  what: string,
  limitMs: number,
  probe: () => Promise<T | null | undefined> | T | null | undefined,
): Promise<T> {
  const deadline = systemClock.monotonicMs() + limitMs;
  let lastError: unknown;
  while (systemClock.monotonicMs() < deadline) {
    try {
      const answer = await probe();
      if (answer !== null && answer !== undefined) return answer;
    } catch (error) {
      lastError = error;
    }
    await delay(systemClock, POLL_MS);
  }
  throw new ExpiredWait(
    `${what}: not within ${limitMs} ms${lastError ? `; last error: ${String(lastError)}` : ''}`,
  );
}

/**
 * Polls `look` until its answer, as JSON, has stayed the same for `restMs`.
 * @throws ExpiredWait with `what` after `limitMs`
 */
export async function atRest<T>(what: string, limitMs: number, look: () => T, restMs = 1_000): Promise<T> {
  let former = '';
  let sinceMs = systemClock.monotonicMs();
  return eventually(what, limitMs, () => {
    const seen = look();
    const text = JSON.stringify(seen);
    if (text !== former) sinceMs = systemClock.monotonicMs();
    former = text;
    return systemClock.monotonicMs() - sinceMs >= restMs ? seen : null;
  });
}
