import { errorText } from '@footlight/platform';
import { execa } from 'execa';
import './failed-spawns.ts';

/**
 * Quoted part of a program's error output; it must fit into the sentence of a check (at most 512 characters in
 * `readiness`).
 */
const WHY_BYTES = 400;

export interface RunOptions {
  /** Default: no limit. */
  limitMs?: number;
  /** Limit of each output. */
  maxBytes?: number;
  /** Added to the agent's environment. */
  env?: Record<string, string>;
}

/** Output of a system program, and how it ended. */
export type ProgramResult =
  | { kind: 'ok'; stdout: string; stderr: string }
  /** why: text for administrators. stdout: output until then. */
  | { kind: 'failed'; why: string; stdout: string }
  /** It could not be started. code: ENOENT when not installed. */
  | { kind: 'not_started'; code: string; why: string };

/**
 * Runs a system program to its end and returns its output. Never rejects.
 *
 * The library's kill on exit is off: it would also signal a program that failed to start, with a pid from
 * uninitialized memory. That pid may be 0, which is this process's whole group, or any process.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { limitMs, maxBytes, env }: RunOptions = {},
): Promise<ProgramResult> {
  const begin = () =>
    execa(program, args, {
      ...(limitMs === undefined ? {} : { timeout: limitMs, forceKillAfterDelay: 500 }),
      ...(maxBytes === undefined ? {} : { maxBuffer: maxBytes }),
      ...(env === undefined ? {} : { env }),
      stdin: 'ignore',
      reject: false,
      cleanup: false,
    });
  let result: Awaited<ReturnType<typeof begin>>;
  try {
    result = await begin();
  } catch {
    // The library throws here only for this reason.
    return { kind: 'not_started', code: 'EMFILE', why: 'too many open files' };
  }
  const { stdout, stderr, code } = result;
  if (!result.failed) return { kind: 'ok', stdout, stderr };
  const why = result.timedOut
    ? 'no answer in time'
    : errorText(stderr || result.shortMessage || '', WHY_BYTES);
  return code === undefined ? { kind: 'failed', why, stdout } : { kind: 'not_started', code, why };
}
