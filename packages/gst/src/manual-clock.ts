import { initialise } from './init.ts';
import { native } from './native.ts';
import { GstObject } from './object.ts';

/**
 * A clock that advances only when it is set, so its owner decides when a waiting element continues. All elements of a
 * pipeline with this clock use it. Owner: its creator; release() after the pipeline's dispose(). Source: GstTestClock
 * of libgstcheck, which Debian ships with the GStreamer library itself; GStreamer has no other clock that can be set.
 */
export class ManualClock extends GstObject {
  #timeNs = 0n;

  constructor() {
    initialise();
    super(native().gst_test_clock_new());
  }

  /** Current time of the clock in nanoseconds; initially 0. */
  get timeNs(): bigint {
    return this.#timeNs;
  }

  /** @param timeNs nanoseconds, not before the current time @returns see releaseWaiting() */
  set(timeNs: bigint): boolean {
    this.#timeNs = timeNs;
    native().gst_test_clock_set_time(this.pointer, timeNs);
    return this.releaseWaiting();
  }

  /**
   * Releases all elements whose waiting time has been reached.
   * @returns false: no element was waiting. An element that has read the time but does not wait yet needs another call.
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
