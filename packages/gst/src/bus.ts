import { native, type Pointer, readPointer, readUint32, takeError, takeString } from './native.ts';

const MESSAGE_EOS = 1 << 0;
const MESSAGE_ERROR = 1 << 1;
const MESSAGE_WARNING = 1 << 2;
const MESSAGE_QOS = 1 << 24;
const INTERESTING = MESSAGE_EOS | MESSAGE_ERROR | MESSAGE_WARNING | MESSAGE_QOS;

/** Offsets in GstMessage, whose first 64 bytes are its mini object. */
const MESSAGE_TYPE = 64;
const MESSAGE_SOURCE = 80;

/** Largest number of messages per poll, so that a flood of messages cannot block the event loop. */
const POLL_LIMIT = 64;

export type BusMessage =
  | { kind: 'eos' }
  | { kind: 'qos'; source: string }
  | { kind: 'error' | 'warning'; source: string; message: string; debug: string };

/** One owned reference to a pipeline's bus. */
export class Bus {
  #pointer: Pointer | null;

  constructor(pointer: Pointer) {
    this.#pointer = pointer;
  }

  /** Returns the available messages without waiting: oldest first, at most 64. */
  poll(): BusMessage[] {
    const messages: BusMessage[] = [];
    while (this.#pointer !== null && messages.length < POLL_LIMIT) {
      const message = native().gst_bus_pop_filtered(this.#pointer, INTERESTING);
      if (!message) break;
      try {
        messages.push(readMessage(message));
      } finally {
        native().gst_mini_object_unref(message);
      }
    }
    return messages;
  }

  release(): void {
    if (this.#pointer === null) return;
    // Flushing drops the messages that were not polled, because messages keep references to elements.
    native().gst_bus_set_flushing(this.#pointer, 1);
    native().gst_object_unref(this.#pointer);
    this.#pointer = null;
  }
}

function readMessage(message: Pointer): BusMessage {
  const type = readUint32(message, MESSAGE_TYPE);
  const origin = readPointer(message, MESSAGE_SOURCE);
  const source = origin ? (takeString(native().gst_object_get_name(origin)) ?? '') : '';
  if (type === MESSAGE_EOS) return { kind: 'eos' };
  if (type === MESSAGE_QOS) return { kind: 'qos', source };
  const error: (Pointer | null)[] = [null];
  const debug: (Pointer | null)[] = [null];
  const isError = type === MESSAGE_ERROR;
  if (isError) native().gst_message_parse_error(message, error, debug);
  else native().gst_message_parse_warning(message, error, debug);
  return {
    kind: isError ? 'error' : 'warning',
    source,
    message: takeError(error[0] ?? null)?.message ?? 'unknown',
    debug: takeString(debug[0] ?? null) ?? '',
  };
}
