import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { systemClock } from '@footlight/platform';
import { ExpiredWait, PATIENCE_MS } from './program.ts';

/** Result of a command on the other machine. */
export interface CommandOutcome {
  code: number;
  /** stdout and stderr together. */
  output: string;
}

/** A shell on a simulated machine, which runs one command line after another. */
export class MachineShell {
  readonly #process: ChildProcess;
  #output = '';
  #waiting: (() => void) | null = null;

  /** @param words a command that ends in a shell which reads its standard input */
  constructor(words: readonly [string, ...string[]]) {
    const [program, ...rest] = words;
    this.#process = spawn(program, rest, {
      // A process in the simulated machine gets the environment of a login, not the environment of the tests.
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const read = (bytes: Buffer) => {
      this.#output += bytes;
      this.#waiting?.();
    };
    this.#process.stdout?.on('data', read);
    this.#process.stderr?.on('data', read);
  }

  /** Runs a command line. @throws ExpiredWait with the previous output when the time limit passes */
  run(line: string, limitMs = PATIENCE_MS): Promise<CommandOutcome> {
    const end = `__end_${randomBytes(6).toString('hex')}__`;
    const from = this.#output.length;
    const pattern = new RegExp(`${end} (\\d+)\n`);
    return new Promise((resolve, reject) => {
      const timer = systemClock.setTimeout(() => {
        this.#waiting = null;
        reject(new ExpiredWait(`'${line}' did not end within ${limitMs} ms:\n${this.#output.slice(from)}`));
      }, limitMs);
      this.#waiting = () => {
        const match = pattern.exec(this.#output.slice(from));
        if (match === null) return;
        timer.cancel();
        this.#waiting = null;
        resolve({ code: Number(match[1]), output: this.#output.slice(from, from + match.index) });
      };
      this.#process.stdin?.write(`(${line}\n); echo "${end} $?"\n`);
    });
  }

  /** Kills the process and waits for its end. */
  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await gone;
  }
}
