import { closeSync, openSync } from 'node:fs';

/**
 * An IPC namespace that is held open: System V objects and POSIX message queues of one session, which its media worker,
 * display and app share. Capture makes its shared memory readable and writable for every user (GStreamer 1.22,
 * ximageutil.c: shmget with mode 0777), so users alone do not keep sessions apart. The kernel removes what is in the
 * namespace with its last process and its last descriptor.
 */
export class IpcNamespace {
  /** Words before a command line that run it in there; they need root. */
  readonly enter: readonly string[];
  readonly #descriptor: number;

  /** @param pid a child that has not been reaped. @throws when it has ended */
  constructor(pid: number) {
    this.#descriptor = openSync(`/proc/${pid}/ns/ipc`, 'r');
    // Not by the pid: another process may have it once the child is gone.
    this.enter = ['nsenter', `--ipc=/proc/${process.pid}/fd/${this.#descriptor}`, '--'];
  }

  /** Call it when nothing that was started with `enter` is on its way any more. */
  close(): void {
    closeSync(this.#descriptor);
  }
}
