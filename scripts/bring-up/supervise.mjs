// Keeps control plane and agent running: restarts a program after every exit, like a service manager, and stops both in
// order.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { LogFile } from './log-file.mjs';
import { systemClock } from './system-clock.mjs';

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string[]} command
 * @property {NodeJS.ProcessEnv} env
 * @property {string} logFile
 * @property {Health} [health] left out: no health checks, so a program that hangs is not ended
 */

/**
 * @typedef {object} Health
 * @property {string} url any answer counts
 * @property {number} [everyMs] interval of the checks, and time limit of each answer; tests use a shorter one
 */

const FIRST_RESTART_MS = 250;
const LONGEST_RESTART_MS = 10_000;
/** A program that has run for this time has started successfully, so the next restart follows quickly again. */
const GOOD_START_MS = 30_000;
const HEALTH_EVERY_MS = 5_000;
/**
 * Number of consecutive missed answers after which a program counts as hung: 30 s, the time for which systemd waits for
 * the agent's watchdog.
 */
const MISSED_ANSWERS = 6;
/** Before its first answer, a program may take 180 s, the same time as in the agent's unit. */
const MISSED_AT_START = 36;

/** @typedef {import('./system-clock.mjs').Clock} Clock */

/**
 * @param {Program} program
 * @param {(line: string) => void} say
 * @param {Clock} [clock]
 */
export function supervise(program, say, clock = systemClock) {
  let restartMs = FIRST_RESTART_MS;
  let stopping = false;
  let restarting = false;
  let missedAnswers = 0;
  let hasAnswered = false;
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null;
  /** @type {{cancel(): void} | null} */
  let nextStart = null;
  /** Ends the current health check period. */
  let endPeriod = () => {};
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

  const log = new LogFile(program.logFile);

  /**
   * Ends a program that hangs. Missed answers are counted instead of time, because while the machine sleeps, time
   * passes but no answers are missed.
   * @param {import('node:child_process').ChildProcess} running
   * @param {Health} health
   */
  const watch = async (running, { url, everyMs = HEALTH_EVERY_MS }) => {
    missedAnswers = 0;
    hasAnswered = false;
    const limit = () => (hasAnswered ? MISSED_ANSWERS : MISSED_AT_START);
    const isOver = () => child !== running || stopping;
    while (missedAnswers < limit()) {
      const period = new AbortController();
      const end = new Promise((resolve) => period.signal.addEventListener('abort', resolve));
      const timer = clock.setTimeout(() => period.abort(), everyMs);
      endPeriod = () => {
        timer.cancel();
        period.abort();
      };
      const answered = await answers(url, period.signal);
      if (isOver()) return;
      missedAnswers = answered ? 0 : missedAnswers + 1;
      hasAnswered ||= answered;
      await end;
      if (isOver()) return;
    }
    say(`The ${program.name} has not answered for ${(limit() * everyMs) / 1000} s; it is ended.`);
    // Signals the whole process group, because a stopped program would not notice that its wrapper process has ended.
    if (running.pid !== undefined) process.kill(-running.pid, 'SIGKILL');
  };

  const start = () => {
    const startedAtMs = clock.monotonicMs();
    // If this script is killed, the kernel sends SIGTERM to the program (PDEATHSIG). Core files are disabled, because
    // they contain secrets and typed text, and a crash handler may let the next session's user read them. The kernel
    // starts a crash handler if the limit is 0, but not if it is 1 (fs/coredump.c).
    const prefix = ['--pdeathsig', 'TERM', '--', 'prlimit', '--core=1', '--'];
    child = spawn('setpriv', [...prefix, ...program.command], {
      env: program.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    if (program.health) void watch(child, program.health);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => log.write(chunk));
    child.once('error', (error) => {
      child = null;
      say(`The ${program.name} cannot start: ${error.message}`);
      firstExit({ code: null, signal: null });
    });
    child.once('exit', (code, signal) => {
      child = null;
      endPeriod();
      firstExit({ code, signal });
      if (stopping) {
        log.close();
        ended();
        return;
      }
      if (restarting) {
        restarting = false;
        start();
        return;
      }
      if (clock.monotonicMs() - startedAtMs >= GOOD_START_MS) restartMs = FIRST_RESTART_MS;
      say(`The ${program.name} stopped (${signal ?? `exit ${code}`}); starting it again.`);
      nextStart = clock.setTimeout(start, restartMs);
      restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
    });
  };
  start();

  return {
    /** The first exit, used to decide whether the start succeeded. */
    exitedOnce,
    /** Whether the program has answered since its last start. Before its first answer it counts as starting. */
    get hasAnswered() {
      return hasAnswered;
    },
    /** Number of answers that the program has missed in a row. */
    get missedAnswers() {
      return missedAnswers;
    },
    /**
     * Stops the program like stop(), and starts it again at once.
     * @param {number} limitMs
     */
    async restart(limitMs) {
      if (stopping || restarting) return;
      restartMs = FIRST_RESTART_MS;
      if (child === null) {
        nextStart?.cancel();
        start();
        return;
      }
      restarting = true;
      const running = child;
      const gone = new Promise((resolve) => running.once('exit', resolve));
      await endWithin(running, gone, limitMs, clock);
    },
    /**
     * Sends SIGTERM to the program and waits for its exit. After the limit the program is killed.
     * @param {number} limitMs
     */
    async stop(limitMs) {
      stopping = true;
      nextStart?.cancel();
      if (child === null) {
        log.close();
        return;
      }
      await endWithin(child, end, limitMs, clock);
    },
    /** The last lines of the program's log, for a person who must find out why the program did not start. */
    lastLines() {
      if (!existsSync(program.logFile)) return '';
      return readFileSync(program.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
    },
  };
}

/**
 * @param {import('node:child_process').ChildProcess} running
 * @param {Promise<unknown>} gone
 * @param {number} limitMs
 * @param {Clock} clock
 */
async function endWithin(running, gone, limitMs, clock) {
  running.kill('SIGTERM');
  const limit = clock.setTimeout(() => running.kill('SIGKILL'), limitMs);
  await gone;
  limit.cancel();
}

/** @param {string} url @param {AbortSignal} tooLate */
async function answers(url, tooLate) {
  try {
    const answer = await fetch(url, { headers: { connection: 'close' }, signal: tooLate });
    await answer.arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/**
 * The agent's health address as a URL.
 * @param {{host: string, port: number | string}} address
 */
export function healthUrl({ host, port }) {
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}/health`;
}
