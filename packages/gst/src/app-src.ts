import { native } from './native.ts';
import { GstObject } from './object.ts';

const FLOW_OK = 0;

/** An appsrc element: push never waits. Set its limits in the pipeline's description. */
export class AppSrc extends GstObject {
  /**
   * Pushes a copy of the bytes as one buffer.
   * @returns false when the pipeline refuses: it is not running, or at its end
   */
  push(data: Uint8Array): boolean {
    // The element takes the reference in every case.
    const buffer = native().gst_buffer_new_memdup(data, data.length);
    return native().gst_app_src_push_buffer(this.pointer, buffer) === FLOW_OK;
  }
}
