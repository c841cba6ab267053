/** Exit codes of the command line. Source: docs/cli.md, "Exit codes". */
export const EXIT = {
  success: 0,
  /** The control plane refused, or something is wrong. */
  failed: 1,
  usage: 2,
  /** Not signed in, or the account may not do this. */
  signIn: 3,
  unreachable: 4,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error for the person at the terminal. `code` is a code of the API, or one of the command line's own. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exitCode: ExitCode;
  readonly code: string;
  /** What to do; null: the message says it. */
  readonly remedy: string | null;
  /** The whole error of the API; null for the command line's own failures. */
  readonly refusal: Readonly<Record<string, unknown>> | null;

  constructor(
    exitCode: ExitCode,
    code: string,
    message: string,
    remedy: string | null = null,
    refusal: Readonly<Record<string, unknown>> | null = null,
  ) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
    this.remedy = remedy;
    this.refusal = refusal;
  }
}

export const wrongUsage = (message: string, remedy: string | null = null): CliFailure =>
  new CliFailure(EXIT.usage, 'wrong_usage', message, remedy);
