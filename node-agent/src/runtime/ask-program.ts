import { errorText } from '@footlight/platform';
import { execa } from 'execa';

const WHY_BYTES = 400;

export interface AskOptions {
  /** Left out: as long as it takes. */
  limitMs?: number;
  /** Of each of its outputs. */
  maxBytes?: number;
  /** Besides the agent's own environment. */
  env?: Record<string, string>;
}

/** What a program of the system said, and how it ended. */
export type ProgramAnswer =
  | { kind: 'ok'; stdout: string; stderr: string }
  /** why: for people. stdout: what it had said by then. */
  | { kind: 'failed'; why: string; stdout: string }
  /** It could not be started. code: ENOENT where it is not installed. */
  | { kind: 'not_started'; code: string; why: string };

/**
 * Runs a program of the system to its end and reads what it says. Never rejects.
 *
 * Nothing kills it when this process exits: the library would signal whatever it tried to start, and where there is no
 * such program the process number is what lay in memory. That may be 0, which is this process's whole group, or anybody's.
 */
export async function askProgram(
  program: string,
  args: readonly string[],
  { limitMs, maxBytes, env }: AskOptions = {},
): Promise<ProgramAnswer> {
  const result = await execa(program, args, {
    ...(limitMs === undefined ? {} : { timeout: limitMs, forceKillAfterDelay: 500 }),
    ...(maxBytes === undefined ? {} : { maxBuffer: maxBytes }),
    ...(env === undefined ? {} : { env }),
    stdin: 'ignore',
    reject: false,
    cleanup: false,
  });
  const { stdout, stderr, code } = result;
  if (!result.failed) return { kind: 'ok', stdout, stderr };
  const why = result.timedOut
    ? 'no answer in time'
    : errorText(stderr || result.shortMessage || '', WHY_BYTES);
  return code === undefined ? { kind: 'failed', why, stdout } : { kind: 'not_started', code, why };
}
