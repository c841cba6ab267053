import { closeSync, openSync } from 'node:fs';

/** Kinds of namespaces, as in nsenter(1). */
type NamespaceKind = 'ipc' | 'net';

/**
 * A child's namespace, held open by a descriptor. The kernel removes a namespace with its last process and descriptor.
 */
export class HeldNamespace {
  /** Command prefix that enters it; needs root. */
  readonly enter: readonly string[];
  readonly #descriptor: number;

  /** @param pid a child that was not reaped @throws when it has ended */
  constructor(kind: NamespaceKind, pid: number) {
    this.#descriptor = openSync(`/proc/${pid}/ns/${kind}`, 'r');
    // By descriptor, because the pid may be reused after the child's end.
    this.enter = ['nsenter', `--${kind}=/proc/${process.pid}/fd/${this.#descriptor}`, '--'];
  }

  /** Call once, when no command with `enter` is starting. */
  close(): void {
    closeSync(this.#descriptor);
  }
}
