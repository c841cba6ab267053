/**
 * Common options of all fakes: a seed, a record of the messages, and words that change the behaviour while a fake runs.
 */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createLogger, errorText, type Random, systemRandom } from '@footlight/platform';
import { seededRandom } from '@footlight/platform/testing';

export const COMMON_OPTIONS = { seed: { type: 'string' }, record: { type: 'string' } } as const;

export const commonUsage = `  --seed N       makes everything random repeatable
  --record FILE  appends each message as a line of JSON, without secrets

A line of behaviours on standard input replaces those of the command line; an empty line ends them all.
`;

export const say = (line = '') => process.stdout.write(`${line}\n`);

/** @param seed text of --seed; undefined: the machine's generator */
export function randomOf(seed: string | undefined): Random {
  return seed === undefined ? systemRandom : seededRandom(count('--seed', seed, 0, 2 ** 32 - 1));
}

/** Writes one message of a fake. */
export type RecordFrame = (peer: string, direction: 'sent' | 'received', text: string) => void;

/** @param file of --record; undefined: nothing is written. Secrets are redacted as in the log. */
export function recordOf(file: string | undefined): RecordFrame {
  if (file === undefined) return () => undefined;
  const logger = createLogger<'sent' | 'received'>('info', {
    write: (line) => appendFileSync(file, line, { mode: 0o600 }),
  });
  return (peer, direction, text) => logger.info({ peer, message: parsed(text) }, direction);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Reads lines of words from standard input until the signal aborts. A refused line is printed and changes nothing.
 * @param apply the words of one line; throws for words that it does not accept
 */
export function readWords(until: AbortSignal, apply: (words: string[]) => void): void {
  const lines = createInterface({ input: process.stdin });
  until.addEventListener('abort', () => lines.close());
  lines.on('line', (line) => {
    const words = line.split(/\s+/).filter((word) => word !== '');
    try {
      apply(words);
      say(words.length === 0 ? 'behaves' : `behaves: ${words.join(' ')}`);
    } catch (error) {
      say(errorText(error));
    }
  });
}

/** @throws Error with the option's name, unless the text is a whole number from `least` to `most` */
export function count(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most)
    throw new Error(`${option} is '${text}'; expected a number from ${least} to ${most}.`);
  return value;
}
