import { connectSwapped, Doorbell } from './doorbell.ts';
import { native, type Pointer, readPointer, readUint64, takeString } from './native.ts';

/** What a GObject property can be set to; enums and flags take their nick, fractions "30/1". */
export type PropertyValue = string | number | boolean;

const GVALUE_BYTES = 24;
/** Offset of the value itself, behind its type. */
const GVALUE_DATA = 8;
/** A year. */
const MAX_ELAPSED_MS = 3.2e10;
/** Offset of value_type in GParamSpec: after the type instance, the name and the padded flags. */
const PARAM_SPEC_VALUE_TYPE = 24;

/**
 * One owned reference to a GstObject. release() gives it back; using the object afterwards throws.
 */
export class GstObject {
  #pointer: Pointer | null;
  /** What release() does first, while the object is there. */
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
   * Calls back on the event loop after the object emitted one of its signals on whatever thread, once for all emissions
   * since. It emits no more when release() ends this.
   * @param signals whose handlers return nothing or a GstFlowReturn
   */
  onSignal(signals: readonly string[], listener: () => void): void {
    const bell = new Doorbell(listener);
    for (const signal of signals) bell.ringOn(this.pointer, signal);
    this.#endings.push(() => bell.close());
  }

  /**
   * For the instant of a signal that is not worth a wake-up.
   * @param signal whose handlers return nothing
   * @returns reads how long ago the object emitted it last, milliseconds, as the emitting thread saw it; as long as it
   *   did not, since this call. Not to be called after release()
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
      // Emitted between the two instants that it compares, their unsigned difference has wrapped.
      return elapsedMs < MAX_ELAPSED_MS ? elapsedMs : 0;
    };
  }

  hasProperty(name: string): boolean {
    return findProperty(this.pointer, name) !== null;
  }

  /**
   * Sets a property, live where the element allows it. The text form is converted to the property's type.
   * @throws when the element has no such property, which GStreamer itself would only log
   */
  setProperty(name: string, value: PropertyValue): void {
    if (!this.hasProperty(name)) throw new Error(`element ${this.name} has no property ${name}`);
    native().gst_util_set_object_arg(this.pointer, name, String(value));
  }

  /**
   * Reads a property in the text form of gst_value_serialize ("true", "42", "I420").
   * @returns null when the value is unset or has no text form
   * @throws when the element has no such property
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

  /** The property as a number; NaN when its text is none. */
  getNumber(name: string): number {
    return Number(this.getProperty(name) ?? Number.NaN);
  }

  /**
   * For a property that is read with every frame.
   * @param name of a property of type guint
   * @returns reads its value; not to be called after release()
   * @throws when the element has no such property
   */
  counter(name: string): () => number {
    const value = Buffer.alloc(GVALUE_BYTES);
    const spec = findProperty(this.pointer, name);
    if (spec === null) throw new Error(`element ${this.name} has no property ${name}`);
    // A number in it is not freed, so the value may be left to the collector.
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
