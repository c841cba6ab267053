import koffi from 'koffi';
import { native, type Pointer } from './native.ts';

const EFD_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;
const COUNT_BYTES = 8;

/**
 * Calls a function on the event loop when an object emits a signal on one of its threads. No additional thread is
 * needed: the signal's handler is the C function eventfd_write. GStreamer calls it with the descriptor, and with the
 * object's address as the number to add. It returns 0, which means GST_FLOW_OK for signals with a result.
 */
export class SignalListener {
  readonly #descriptor: number;
  readonly #poll: ReturnType<typeof koffi.node.poll>;
  readonly #disconnects: (() => void)[] = [];

  /** @param onRing called once for all emissions since the last call */
  constructor(onRing: () => void) {
    const descriptor = native().eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (descriptor < 0) throw new Error(`eventfd failed, errno ${koffi.errno()}`);
    this.#descriptor = descriptor;
    const count = Buffer.alloc(COUNT_BYTES);
    this.#poll = koffi.node.poll(descriptor, () => {
      native().eventfd_read(descriptor, count);
      // Deferred, because callbacks of promises that settle inside the callback of the poll handle would not run
      // directly after it.
      setImmediate(onRing);
    });
  }

  /** Connects a signal whose handlers return nothing or a GstFlowReturn; each emission leads to a call of onRing. */
  listen(object: Pointer, signal: string): void {
    const { eventfd_write } = native();
    this.#disconnects.push(connectSwapped(object, signal, eventfd_write, BigInt(this.#descriptor)));
  }

  /**
   * Must be called while the objects still exist but no longer emit signals, because the descriptor's number may be
   * reused.
   */
  close(): void {
    for (const disconnect of this.#disconnects) disconnect();
    this.#poll.close();
    native().close(this.#descriptor);
  }
}

const G_CONNECT_SWAPPED = 1 << 1;

/**
 * Connects a C function to a signal. The function gets `data` as its first argument and runs on the thread that emits
 * the signal.
 * @returns a function that disconnects the C function
 */
export function connectSwapped(object: Pointer, signal: string, handler: Pointer, data: Pointer): () => void {
  const { g_signal_connect_data, g_signal_handler_disconnect } = native();
  const id = g_signal_connect_data(object, signal, handler, data, null, G_CONNECT_SWAPPED);
  return () => g_signal_handler_disconnect(object, id);
}
