import { closeSync, openSync } from 'node:fs';

/** Kinds of namespaces, as in nsenter(1). */
type NamespaceKind = 'ipc' | 'net';

/**
 * The namespace of a child process, kept alive by a descriptor. The kernel removes a namespace when its last process
 * has ended and its last descriptor is closed.
 */
export class HeldNamespace {
  /** Command prefix that enters the namespace; needs root. */
  readonly enter: readonly string[];
  readonly #descriptor: number;

  /** @param pid a child process that was not reaped @throws when the child has ended */
  constructor(kind: NamespaceKind, pid: number) {
    this.#descriptor = openSync(`/proc/${pid}/ns/${kind}`, 'r');
    // Uses the descriptor, because the pid may be reused after the child's end.
    this.enter = ['nsenter', `--${kind}=/proc/${process.pid}/fd/${this.#descriptor}`, '--'];
  }

  /** Closes the descriptor. Call it once, when no command with `enter` is starting. */
  close(): void {
    closeSync(this.#descriptor);
  }
}
