import { initialise } from './init.ts';
import { native } from './native.ts';
import { GstObject } from './object.ts';

/**
 * A clock that stands still until it is set: its owner decides when an element that waits by it goes on. All elements
 * of its pipeline wait by it. Owner: its creator; release() after the pipeline's dispose(). Source: GstTestClock of
 * libgstcheck, which Debian ships with the GStreamer library itself; GStreamer has no other clock that can be set.
 */
export class ManualClock extends GstObject {
  #timeNs = 0n;

  constructor() {
    initialise();
    super(native().gst_test_clock_new());
  }

  /** Nanoseconds; 0 at first. */
  get timeNs(): bigint {
    return this.#timeNs;
  }

  /** @param timeNs nanoseconds, not before the present time @returns see releaseWaiting */
  set(timeNs: bigint): boolean {
    this.#timeNs = timeNs;
    native().gst_test_clock_set_time(this.pointer, timeNs);
    return this.releaseWaiting();
  }

  /**
   * Lets everything go on that waits for a time that has come.
   * @returns false: nothing did. An element that has read the time and does not wait yet needs another call.
   */
  releaseWaiting(): boolean {
    let released = false;
    for (;;) {
      const waiting = native().gst_test_clock_process_next_clock_id(this.pointer);
      if (waiting === null) return released;
      native().gst_clock_id_unref(waiting);
      released = true;
    }
  }
}
