import { runProgram } from '../programs/run-program.ts';

/**
 * Forbids core files of this process and of all that it starts: they hold the host's secret and what people typed, and
 * handlers of cores let a later session with the same user id read them (systemd-coredump by an access list, Apport by
 * the owner of its report).
 *
 * The limit is 1 byte and not 0: Linux starts a handler (core_pattern with `|`) with a limit of 0, and with 1 it does
 * not. Source: fs/coredump.c, "special value" (Linux 2.6.32 and newer).
 *
 * Without effect where the limit is 0 already and this process may not raise it.
 */
export async function forbidCoreFiles(): Promise<void> {
  await runProgram('prlimit', ['--pid', String(process.pid), '--core=1:1']);
}
