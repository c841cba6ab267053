import { runProgram } from '../programs/run-program.ts';

/**
 * Forbids core files of this process and its children, because core files contain the host's secret and typed text.
 * Crash handlers let a later session with the same user id read them (systemd-coredump by an access list, Apport by the
 * owner of its report).
 *
 * The limit is 1 byte instead of 0. With 0, Linux still starts a crash handler (core_pattern with `|`); with 1, it does
 * not. Source: fs/coredump.c, "special value" (Linux 2.6.32 and newer).
 *
 * No effect if the limit is already 0 and this process is not permitted to raise it.
 */
export async function forbidCoreFiles(): Promise<void> {
  await runProgram('prlimit', ['--pid', String(process.pid), '--core=1:1']);
}
