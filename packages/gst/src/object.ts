import { native, type Pointer, readPointer, readUint64, takeString } from './native.ts';
import { connectSwapped, SignalListener } from './signal-listener.ts';

/** Value of a GObject property; enums and flags by nick, fractions as "30/1". */
export type PropertyValue = string | number | boolean;

const GVALUE_BYTES = 24;
/** Offset of the value in GValue; the type precedes it. */
const GVALUE_DATA = 8;
/** One year in milliseconds. */
const MAX_ELAPSED_MS = 3.2e10;
/** Offset of value_type in GParamSpec; the type instance, the name and the padded flags precede it. */
const PARAM_SPEC_VALUE_TYPE = 24;

/** One owned reference to a GstObject. release() drops the reference; later use throws. */
export class GstObject {
  #pointer: Pointer | null;
  /** Functions that release() calls while the object still exists. */
  readonly #endings: (() => void)[] = [];

  /** @param pointer a reference, which this object takes over */
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
   * Calls the listener on the event loop after one of the signals was emitted on any thread, once for all emissions
   * since the last call. Ends with release(), which must be called after the object's last emission.
   * @param signals signals whose handlers return nothing or a GstFlowReturn
   */
  onSignal(signals: readonly string[], listener: () => void): void {
    const signalListener = new SignalListener(listener);
    for (const signal of signals) signalListener.listen(this.pointer, signal);
    this.#endings.push(() => signalListener.close());
  }

  /**
   * Measures the time since a signal's last emission, without waking this process.
   * @param signal a signal whose handlers return nothing
   * @returns a function that returns the milliseconds since the last emission; if there was none, since this call. It
   * must not be called after release()
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
      // If the signal is emitted between the two reads, the unsigned difference wraps, so 0 is returned.
      return elapsedMs < MAX_ELAPSED_MS ? elapsedMs : 0;
    };
  }

  hasProperty(name: string): boolean {
    return findProperty(this.pointer, name) !== null;
  }

  /**
   * Sets a property. This is possible even while the element runs, if the element allows it. A text is converted to the
   * property's type.
   * @throws when the property is unknown, because GStreamer itself would only log this
   */
  setProperty(name: string, value: PropertyValue): void {
    if (!this.hasProperty(name)) throw new Error(`element ${this.name} has no property ${name}`);
    native().gst_util_set_object_arg(this.pointer, name, String(value));
  }

  /**
   * Reads a property as text of gst_value_serialize ("true", "42", "I420").
   * @returns null: the value is not set or has no text form
   * @throws when the property is unknown
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

  /** The property as a number; NaN: its text is not a number. */
  getNumber(name: string): number {
    return Number(this.getProperty(name) ?? Number.NaN);
  }

  /**
   * Creates a fast function for a property that is read with every frame.
   * @param name name of a guint property
   * @returns a function that returns the property's value; it must not be called after release()
   * @throws when the property is unknown
   */
  counter(name: string): () => number {
    const value = Buffer.alloc(GVALUE_BYTES);
    const spec = findProperty(this.pointer, name);
    if (spec === null) throw new Error(`element ${this.name} has no property ${name}`);
    // The value is a number, so g_value_unset is not needed, and the garbage collector may free the memory.
    native().g_value_init(value, readUint64(spec, PARAM_SPEC_VALUE_TYPE));
    return () => {
      native().g_object_get_property(this.pointer, name, value);
      return value.readUInt32LE(GVALUE_DATA);
    };
  }
}

function findProperty(object: Pointer, name: string): Pointer | null {
  // The first field of a GTypeInstance is the pointer to its class.
  const klass = readPointer(object, 0);
  return klass === null ? null : native().g_object_class_find_property(klass, name);
}
