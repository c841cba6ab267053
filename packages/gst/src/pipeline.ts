import { AppSink } from './app-sink.ts';
import { AppSrc } from './app-src.ts';
import { Bus } from './bus.ts';
import { initialise } from './init.ts';
import type { ManualClock } from './manual-clock.ts';
import { CLOCK_TIME_NONE, native, type Pointer, takeError, takeString } from './native.ts';
import { GstObject } from './object.ts';

export type PipelineState = 'null' | 'ready' | 'paused' | 'playing';

const STATE_NUMBER: Record<PipelineState, number> = { null: 1, ready: 2, paused: 3, playing: 4 };
const STATE_CHANGE_FAILURE = 0;
/**
 * GST_DEBUG_GRAPH_SHOW_MEDIA_TYPE, _CAPS_DETAILS and _STATES. The bit for properties is left out, because properties
 * may contain paths.
 */
const DOT_DETAILS = 1 | 2 | 8;
const NS_PER_MS = 1e6;

/** An element of a pipeline. It is an owned reference, which is released with the pipeline. */
export class Element extends GstObject {
  /**
   * Negotiated caps of a pad, as text.
   * @returns null: the pad does not exist or has no caps
   */
  padCaps(padName: string): string | null {
    return this.#caps(padName, (pad) => native().gst_pad_get_current_caps(pad));
  }

  /**
   * Caps that a pad can currently accept, as text. For a linked pad, they include the limits of the linked elements.
   * @returns null: the pad does not exist
   */
  acceptedCaps(padName: string): string | null {
    return this.#caps(padName, (pad) => native().gst_pad_query_caps(pad, null));
  }

  /** @param read returns a reference, which this method releases */
  #caps(padName: string, read: (pad: Pointer) => Pointer | null): string | null {
    const pad = native().gst_element_get_static_pad(this.pointer, padName);
    if (!pad) return null;
    try {
      const caps = read(pad);
      if (!caps) return null;
      try {
        return takeString(native().gst_caps_to_string(caps));
      } finally {
        native().gst_mini_object_unref(caps);
      }
    } finally {
      native().gst_object_unref(pad);
    }
  }

  /**
   * Changes the state of only this element, on a pool thread.
   * @throws when the element refuses; the reason is on the bus
   */
  setState(state: PipelineState): Promise<void> {
    return changeState(this.pointer, state, this.name);
  }

  /**
   * Requests a keyframe with parameter sets from the upstream encoder.
   * @returns false: no element handled the event
   * Source: GstVideoEncoder, force-key-unit event.
   */
  forceKeyUnit(): boolean {
    const event = native().gst_video_event_new_upstream_force_key_unit(CLOCK_TIME_NONE, true, 0);
    return native().gst_element_send_event(this.pointer, event);
  }
}

/**
 * A pipeline in gst-launch syntax.
 *
 * Life: launch → setState('playing') … → dispose(). dispose() sets the state NULL on a pool thread, ends a running pull
 * and releases all references. Afterwards, the pipeline and its elements must not be used. dispose() is repeatable.
 */
export class Pipeline {
  readonly #object: GstObject;
  readonly #bus: Bus;
  readonly #elements = new Map<string, Element>();
  readonly #sinks = new Map<string, AppSink>();
  readonly #sources = new Map<string, AppSrc>();
  #changing: Promise<void> = Promise.resolve();
  #disposed: Promise<void> | null = null;

  /**
   * @param description gst-launch syntax; untrusted values must be set with setProperty() instead
   * @throws with GStreamer's reason when an element is missing or the syntax is wrong
   */
  static launch(description: string): Pipeline {
    initialise();
    const error: (Pointer | null)[] = [null];
    const pointer = native().gst_parse_launch(description, error);
    const reason = takeError(error[0] ?? null);
    if (!pointer) throw new Error(`no pipeline: ${reason?.message ?? 'unknown reason'}`);
    const object = new GstObject(native().gst_object_ref_sink(pointer));
    if (reason) {
      // A pipeline that was built only partly, because a link failed, cannot be used.
      object.release();
      throw new Error(`no pipeline: ${reason.message}`);
    }
    return new Pipeline(object);
  }

  private constructor(object: GstObject) {
    this.#object = object;
    const bus = native().gst_element_get_bus(object.pointer);
    if (!bus) throw new Error('the description is not a pipeline');
    this.#bus = new Bus(bus);
  }

  /** @throws when no element has this name */
  element(name: string): Element {
    const known = this.#elements.get(name);
    if (known) return known;
    const element = new Element(this.#find(name));
    this.#elements.set(name, element);
    return element;
  }

  /** @throws when no element has this name. The caller guarantees that the element is an appsink */
  appSink(name: string): AppSink {
    const known = this.#sinks.get(name);
    if (known) return known;
    const sink = new AppSink(this.#find(name));
    this.#sinks.set(name, sink);
    return sink;
  }

  /** @throws when no element has this name. The caller guarantees that the element is an appsrc */
  appSrc(name: string): AppSrc {
    const known = this.#sources.get(name);
    if (known) return known;
    const source = new AppSrc(this.#find(name));
    this.#sources.set(name, source);
    return source;
  }

  #find(name: string): Pointer {
    const pointer = native().gst_bin_get_by_name(this.#object.pointer, name);
    if (!pointer) throw new Error(`the pipeline has no element ${name}`);
    return pointer;
  }

  /**
   * Makes the pipeline use the system's monotonic clock (the clock of process.hrtime()) instead of a clock of an
   * element, so that capture times of several pipelines are comparable.
   */
  useSystemClock(): void {
    const clock = native().gst_system_clock_obtain();
    native().gst_pipeline_use_clock(this.#object.pointer, clock);
    native().gst_object_unref(clock);
  }

  /** Makes the pipeline use the caller's clock. The caller must release the clock after the pipeline. */
  useClock(clock: ManualClock): void {
    native().gst_pipeline_use_clock(this.#object.pointer, clock.pointer);
  }

  /**
   * Changes the state on a pool thread, because opening a display or ending threads takes time.
   * @throws when an element refuses; the reason is on the bus
   */
  setState(state: PipelineState): Promise<void> {
    const change = this.#changing.then(() => this.#change(state));
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async #change(state: PipelineState): Promise<void> {
    try {
      await changeState(this.#object.pointer, state, 'the pipeline');
    } finally {
      if (state === 'null') for (const sink of this.#sinks.values()) sink.stopped();
    }
  }

  /** Time of the clock at running time 0, in milliseconds; valid while the pipeline is playing. */
  get baseTimeMs(): number {
    return Number(native().gst_element_get_base_time(this.#object.pointer)) / NS_PER_MS;
  }

  pollBus() {
    return this.#bus.poll();
  }

  /**
   * The graph in Graphviz DOT, with states and caps. It is created on a pool thread, because this takes milliseconds.
   */
  dot(): Promise<string> {
    // The thread needs its own reference, because the pipeline may be released in the meantime.
    const pipeline = native().gst_object_ref(this.#object.pointer);
    return new Promise((resolve, reject) => {
      native().gst_debug_bin_to_dot_data.async(pipeline, DOT_DETAILS, (error, text) => {
        native().gst_object_unref(pipeline);
        if (error) reject(error);
        else resolve(takeString(text) ?? '');
      });
    });
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#release();
    return this.#disposed;
  }

  async #release(): Promise<void> {
    await this.setState('null').catch(() => undefined);
    for (const sink of this.#sinks.values()) sink.release();
    for (const element of this.#elements.values()) element.release();
    this.#bus.release();
    this.#object.release();
  }
}

function changeState(element: Pointer, state: PipelineState, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    native().gst_element_set_state.async(element, STATE_NUMBER[state], (error, result) => {
      if (error) reject(error);
      else if (result === STATE_CHANGE_FAILURE) reject(new Error(`${name} cannot go to ${state}`));
      else resolve();
    });
  });
}
