import { errorText } from '@footlight/platform';
import { execa } from 'execa';
import './failed-spawns.ts';

/**
 * Length of the part of a program's error output that is quoted. It must fit into the summary of a check (at most 512
 * characters in `readiness`).
 */
const WHY_BYTES = 400;

export interface RunOptions {
  /** Time limit. Default: no limit. */
  limitMs?: number;
  /** Largest size of each output. */
  maxBytes?: number;
  /** Variables added to the agent's environment. */
  env?: Record<string, string>;
  /** Its abort ends the program. */
  ended?: AbortSignal;
}

/** Output of a system program, and how it ended. */
export type ProgramResult =
  | { kind: 'ok'; stdout: string; stderr: string }
  /** why: a text for administrators. stdout: the output before the failure. */
  | { kind: 'failed'; why: string; stdout: string }
  /** The program could not be started. code: ENOENT if it is not installed. */
  | { kind: 'not_started'; code: string; why: string };

/**
 * Runs a system program to its end and returns its output. Never rejects.
 *
 * The library's option to kill the program at exit is off. It would also send a signal for a program that failed to
 * start, with a pid from uninitialized memory. This pid could be any process, or 0, which means the whole process group
 * of the agent.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { limitMs, maxBytes, env, ended }: RunOptions = {},
): Promise<ProgramResult> {
  const begin = () =>
    execa(program, args, {
      ...(limitMs === undefined ? {} : { timeout: limitMs, forceKillAfterDelay: 500 }),
      ...(maxBytes === undefined ? {} : { maxBuffer: maxBytes }),
      ...(env === undefined ? {} : { env }),
      ...(ended === undefined ? {} : { cancelSignal: ended, forceKillAfterDelay: 500 }),
      stdin: 'ignore',
      reject: false,
      cleanup: false,
    });
  let result: Awaited<ReturnType<typeof begin>>;
  try {
    result = await begin();
  } catch {
    // EMFILE is the only reason for which the library throws here.
    return { kind: 'not_started', code: 'EMFILE', why: 'too many open files' };
  }
  const { stdout, stderr, code } = result;
  if (!result.failed) return { kind: 'ok', stdout, stderr };
  const why = result.timedOut
    ? 'no answer in time'
    : errorText(stderr || result.shortMessage || '', WHY_BYTES);
  return code === undefined ? { kind: 'failed', why, stdout } : { kind: 'not_started', code, why };
}
