// Keeps the two halves running: starts a program again after every exit, as a service manager would, and ends both in order.
import { spawn } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync, renameSync } from 'node:fs';

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string[]} command
 * @property {NodeJS.ProcessEnv} env
 * @property {string} logFile
 */

const FIRST_RESTART_MS = 250;
const LONGEST_RESTART_MS = 10_000;
/** A program that lived this long had a good start: the next restart is quick again. */
const GOOD_START_MS = 30_000;

/**
 * @param {Program} program
 * @param {(line: string) => void} say
 */
export function supervise(program, say) {
  let restartMs = FIRST_RESTART_MS;
  let stopping = false;
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {(exit: {code: number | null, signal: string | null}) => void} */
  let firstExit = () => {};
  const exitedOnce = new Promise((resolve) => {
    firstExit = resolve;
  });
  /** @type {() => void} */
  let ended = () => {};
  const end = new Promise((resolve) => {
    ended = () => resolve(undefined);
  });

  if (existsSync(program.logFile)) renameSync(program.logFile, `${program.logFile}.previous`);
  const log = createWriteStream(program.logFile, { flags: 'a', mode: 0o600 });

  const start = () => {
    const startedAt = performance.now();
    // Should this script be killed outright, the kernel tells the program to stop as well.
    child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', ...program.command], {
      env: program.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    child.once('error', (error) => {
      child = null;
      say(`The ${program.name} cannot start: ${error.message}`);
      firstExit({ code: null, signal: null });
    });
    child.once('exit', (code, signal) => {
      child = null;
      firstExit({ code, signal });
      if (stopping) {
        log.end();
        ended();
        return;
      }
      if (performance.now() - startedAt > GOOD_START_MS) restartMs = FIRST_RESTART_MS;
      say(`The ${program.name} stopped (${signal ?? `exit ${code}`}); starting it again.`);
      timer = setTimeout(start, restartMs);
      restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
    });
  };
  start();

  return {
    /** The first exit, for a start that has to be judged. */
    exitedOnce,
    /** Tells the program to stop and waits; after the limit it is killed. @param {number} limitMs */
    async stop(limitMs) {
      stopping = true;
      clearTimeout(timer);
      if (child === null) {
        log.end();
        return;
      }
      const running = child;
      running.kill('SIGTERM');
      const limit = setTimeout(() => running.kill('SIGKILL'), limitMs);
      await end;
      clearTimeout(limit);
    },
    /** The last lines it wrote, for a person who has to find out why it did not start. */
    lastLines() {
      if (!existsSync(program.logFile)) return '';
      return readFileSync(program.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
    },
  };
}
