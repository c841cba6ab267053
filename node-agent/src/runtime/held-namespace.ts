import { closeSync, openSync } from 'node:fs';

/** Kinds of namespaces, as nsenter(1) calls them. */
type NamespaceKind = 'ipc' | 'net';

/** A namespace of a child that is held open. The kernel removes it with its last process and its last descriptor. */
export class HeldNamespace {
  /** Words before a command line that run it in there; they need root. */
  readonly enter: readonly string[];
  readonly #descriptor: number;

  /** @param pid a child that has not been reaped. @throws when it has ended */
  constructor(kind: NamespaceKind, pid: number) {
    this.#descriptor = openSync(`/proc/${pid}/ns/${kind}`, 'r');
    // Not by the pid: another process may have it once the child is gone.
    this.enter = ['nsenter', `--${kind}=/proc/${process.pid}/fd/${this.#descriptor}`, '--'];
  }

  /** Call it once, when nothing that was started with `enter` is on its way any more. */
  close(): void {
    closeSync(this.#descriptor);
  }
}
