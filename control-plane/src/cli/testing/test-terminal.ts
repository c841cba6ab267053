import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@footlight/platform';
import { run } from '../program.ts';
import type { Terminal } from '../terminal.ts';
import { safeText } from '../terminal-text.ts';

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface TestTerminalOptions {
  readonly environment?: Record<string, string>;
  readonly home?: string;
  /** Answers to the questions, in order. null: there is no person. */
  readonly answers?: readonly string[] | null;
  readonly input?: string;
  readonly clock?: Clock;
  readonly isScreen?: boolean;
}

/** A new home folder. */
export const newHome = (): string => mkdtempSync(join(tmpdir(), 'footlight-cli-'));

/** Runs one command in this process, with a terminal that keeps what was written and asked. */
export async function runCommand(words: readonly string[], options: TestTerminalOptions = {}): Promise<Ran> {
  const written = { out: '', err: '' };
  const answers = [...(options.answers ?? [])];
  const terminal: Terminal = {
    environment: options.environment ?? {},
    home: options.home ?? '/nonexistent',
    clock: options.clock ?? systemClock,
    timeZone: 'UTC',
    isInteractive: options.answers !== undefined && options.answers !== null,
    isScreen: options.isScreen ?? false,
    interrupted: new AbortController().signal,
    out: (text) => {
      written.out += safeText(text);
    },
    err: (text) => {
      written.err += safeText(text);
    },
    async outBytes(part) {
      written.out += Buffer.from(part).toString('latin1');
    },
    async ask(question, isHidden) {
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`unexpected question: ${question}`);
      written.err += `${question}: ${isHidden ? '' : answer}\n`;
      return answer;
    },
    readInput: async () => options.input ?? '',
  };
  const exitCode = await run(words, terminal);
  return { exitCode, ...written };
}
