import koffi from 'koffi';

const PR_SET_NO_NEW_PRIVS = 38;
/** Number of the system call seccomp(2) on x86-64. */
const SECCOMP = 317;
const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_FILTER_FLAG_TSYNC = 1;
const INSTRUCTION_BYTES = 8;

/**
 * Sets a seccomp filter for this process, all its threads and its later child processes. Also sets no_new_privs for all
 * of these.
 * @param filter an array of struct sock_filter
 * @throws when the kernel refuses
 * Source: seccomp(2), SECCOMP_FILTER_FLAG_TSYNC.
 */
export function confineProcess(filter: Buffer): void {
  const libc = koffi.load('libc.so.6');
  const prctl = libc.func('int prctl(int option, ulong a, ulong b, ulong c, ulong d)');
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) !== 0)
    throw new Error(`prctl(PR_SET_NO_NEW_PRIVS) failed, errno ${koffi.errno()}`);
  // Layout of struct sock_fprog.
  const type = koffi.struct({ len: 'uint16', filter: 'void *' });
  const program = { len: filter.length / INSTRUCTION_BYTES, filter };
  const syscall = libc.func('syscall', 'long', ['long', 'ulong', 'ulong', koffi.pointer(type)]);
  // A positive result is the id of a thread to which the filter could not be applied.
  const result = Number(syscall(SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program));
  if (result !== 0)
    throw new Error(`seccomp failed, ${result < 0 ? `errno ${koffi.errno()}` : `thread ${result}`}`);
}
