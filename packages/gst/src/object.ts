import { native, type Pointer, readPointer, readUint64, takeString } from './native.ts';
import { connectSwapped, SignalListener } from './signal-listener.ts';

/** Value of a GObject property; enums and flags by nick, fractions as "30/1". */
export type PropertyValue = string | number | boolean;

const GVALUE_BYTES = 24;
/** Offset of the value after its type. */
const GVALUE_DATA = 8;
/** A year. */
const MAX_ELAPSED_MS = 3.2e10;
/** Offset of value_type in GParamSpec: after the type instance, the name and the padded flags. */
const PARAM_SPEC_VALUE_TYPE = 24;

/** One owned reference to a GstObject. release() drops it; later use throws. */
export class GstObject {
  #pointer: Pointer | null;
  /** Run by release() while the object still exists. */
  readonly #endings: (() => void)[] = [];

  /** @param pointer a reference that this wrapper takes over */
  constructor(pointer: Pointer) {
    this.#pointer = pointer;
  }

  /** Address of the object. @throws after release() */
  get pointer(): Pointer {
    if (this.#pointer === null) throw new Error('GStreamer object used after release');
    return this.#pointer;
  }

  get name(): string {
    return takeString(native().gst_object_get_name(this.pointer)) ?? '';
  }

  release(): void {
    if (this.#pointer === null) return;
    for (const end of this.#endings) end();
    native().gst_object_unref(this.#pointer);
    this.#pointer = null;
  }

  /**
   * Calls back on the event loop after an emission of one of the signals on any thread, once for all emissions since
   * the last call. Ends with release(), after the object's last emission.
   * @param signals whose handlers return nothing or a GstFlowReturn
   */
  onSignal(signals: readonly string[], listener: () => void): void {
    const signalListener = new SignalListener(listener);
    for (const signal of signals) signalListener.listen(this.pointer, signal);
    this.#endings.push(() => signalListener.close());
  }

  /**
   * Reads the time of a signal without a wake-up.
   * @param signal whose handlers return nothing
   * @returns a function with the milliseconds since the last emission, or since this call without one. Do not call it
   * after release()
   */
  sinceSignal(signal: string): () => number {
    const timer = native().g_timer_new();
    const disconnect = connectSwapped(this.pointer, signal, native().g_timer_start, timer);
    this.#endings.push(() => {
      disconnect();
      native().g_timer_destroy(timer);
    });
    return () => {
      const elapsedMs = native().g_timer_elapsed(timer, null) * 1000;
      // An emission between the two reads makes the unsigned difference wrap.
      return elapsedMs < MAX_ELAPSED_MS ? elapsedMs : 0;
    };
  }

  hasProperty(name: string): boolean {
    return findProperty(this.pointer, name) !== null;
  }

  /**
   * Sets a property, while running where the element allows it. The text is converted to the property's type.
   * @throws for an unknown property, which GStreamer itself would only log
   */
  setProperty(name: string, value: PropertyValue): void {
    if (!this.hasProperty(name)) throw new Error(`element ${this.name} has no property ${name}`);
    native().gst_util_set_object_arg(this.pointer, name, String(value));
  }

  /**
   * Reads a property as text of gst_value_serialize ("true", "42", "I420").
   * @returns null when the value is unset or has no text form
   * @throws for an unknown property
   */
  getProperty(name: string): string | null {
    const spec = findProperty(this.pointer, name);
    if (spec === null) throw new Error(`element ${this.name} has no property ${name}`);
    const value = Buffer.alloc(GVALUE_BYTES);
    native().g_value_init(value, readUint64(spec, PARAM_SPEC_VALUE_TYPE));
    try {
      native().g_object_get_property(this.pointer, name, value);
      return takeString(native().gst_value_serialize(value));
    } finally {
      native().g_value_unset(value);
    }
  }

  /** The property as a number; NaN for other text. */
  getNumber(name: string): number {
    return Number(this.getProperty(name) ?? Number.NaN);
  }

  /**
   * Fast reader of a property that is read with every frame.
   * @param name of a guint property
   * @returns a reader of its value; do not call it after release()
   * @throws for an unknown property
   */
  counter(name: string): () => number {
    const value = Buffer.alloc(GVALUE_BYTES);
    const spec = findProperty(this.pointer, name);
    if (spec === null) throw new Error(`element ${this.name} has no property ${name}`);
    // A number needs no g_value_unset, so the garbage collector may free the value.
    native().g_value_init(value, readUint64(spec, PARAM_SPEC_VALUE_TYPE));
    return () => {
      native().g_object_get_property(this.pointer, name, value);
      return value.readUInt32LE(GVALUE_DATA);
    };
  }
}

function findProperty(object: Pointer, name: string): Pointer | null {
  // A GTypeInstance starts with the pointer to its class.
  const klass = readPointer(object, 0);
  return klass === null ? null : native().g_object_class_find_property(klass, name);
}
