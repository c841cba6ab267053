/** The terminal, environment and clock of a command. */
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Clock, type Environment, systemClock } from '@footlight/platform';
import { wrongUsage } from './failure.ts';
import { safeText } from './terminal-text.ts';

export interface Terminal {
  readonly environment: Environment;
  /** Home folder of the person. */
  readonly home: string;
  readonly clock: Clock;
  /** undefined: the zone of the machine. */
  readonly timeZone: string | undefined;
  /** A person can answer questions. */
  readonly isInteractive: boolean;
  /** The output is a terminal, not a file or a pipe. */
  readonly isScreen: boolean;
  /** Aborts when the person presses Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Writes a text to standard output. Control characters become visible text. */
  out(text: string): void;
  /** The same for standard error. */
  err(text: string): void;
  /** Writes the bytes of a file to standard output unchanged. */
  outBytes(part: Uint8Array): Promise<void>;
  /** @param isHidden the answer is not shown */
  ask(question: string, isHidden: boolean): Promise<string>;
  readInput(): Promise<string>;
}

/** Writes lines, each with a line break. */
export function printLines(terminal: Terminal, lines: readonly string[]): void {
  if (lines.length > 0) terminal.out(`${lines.join('\n')}\n`);
}

/** Writes one JSON document; null for an empty answer. */
export const printJson = (terminal: Terminal, value: unknown): void =>
  terminal.out(`${JSON.stringify(value ?? null, null, 2)}\n`);

/** The longest text that is read from standard input. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

export function systemTerminal(): Terminal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  const { stdin, stdout, stderr } = process;
  // A reader such as `head` may close the pipe early. This is not an error of the command.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  return {
    environment: process.env,
    home: homedir(),
    clock: systemClock,
    timeZone: undefined,
    isInteractive: stdin.isTTY === true,
    isScreen: stdout.isTTY === true,
    interrupted: interrupt.signal,
    out: (text) => void stdout.write(safeText(text)),
    err: (text) => void stderr.write(safeText(text)),
    outBytes: (part) =>
      new Promise((resolve, reject) => stdout.write(part, (error) => (error ? reject(error) : resolve()))),
    ask: askOn,
    async readInput() {
      const parts: Buffer[] = [];
      let bytes = 0;
      for await (const part of stdin as AsyncIterable<Buffer>) {
        bytes += part.length;
        if (bytes > MAX_INPUT_BYTES) throw wrongUsage('The text on standard input is too long.');
        parts.push(part);
      }
      return Buffer.concat(parts).toString('utf8');
    },
  };
}

function askOn(question: string, isHidden: boolean): Promise<string> {
  if (!process.stdin.isTTY) throw wrongUsage(`${question} cannot be asked, because there is no terminal.`);
  // The question goes to standard error, because the output may be read by another program. readline repeats each key
  // on its output, so a hidden answer gets an output that discards everything.
  process.stderr.write(safeText(`${question}: `));
  const discarded = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: process.stdin,
    output: isHidden ? discarded : process.stderr,
    terminal: true,
  });
  return new Promise((resolve, reject) => {
    let answer: string | null = null;
    lines.once('line', (line) => {
      answer = line;
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      if (isHidden) process.stderr.write('\n');
      if (answer === null) reject(wrongUsage('Interrupted.'));
      else resolve(answer);
    });
  });
}
