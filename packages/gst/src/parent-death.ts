import koffi from 'koffi';

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/**
 * Makes the kernel kill this process when the thread that forked it ends.
 *
 * A change of uid clears this setting, so a process that drops root rights must call this again. The parent may already
 * have ended before the call, so the caller must compare process.ppid with its initial value.
 * @throws when prctl refuses
 * Source: prctl(2), PR_SET_PDEATHSIG.
 */
export function dieWithParent(): void {
  const libc = koffi.load('libc.so.6');
  const prctl = libc.func('int prctl(int option, ulong a, ulong b, ulong c, ulong d)');
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) !== 0) {
    throw new Error(`prctl(PR_SET_PDEATHSIG) failed, errno ${koffi.errno()}`);
  }
}
