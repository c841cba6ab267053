import { BUFFER_PTS, NS_PER_MS } from './buffer-layout.ts';
import { native, writeUint64 } from './native.ts';
import { GstObject } from './object.ts';

const FLOW_OK = 0;

/** An appsrc element: push never waits. Set its limits in the pipeline's description. */
export class AppSrc extends GstObject {
  /**
   * Pushes a copy of the bytes as one buffer.
   * @param ptsMs presentation time in milliseconds of running time; null: none
   * @returns false when the pipeline refuses: it is not running, or at its end
   */
  push(data: Uint8Array, ptsMs: number | null = null): boolean {
    // The element takes over the reference even if it refuses the buffer.
    const buffer = native().gst_buffer_new_memdup(data, data.length);
    if (ptsMs !== null) writeUint64(buffer, BUFFER_PTS, BigInt(Math.round(ptsMs * NS_PER_MS)));
    return native().gst_app_src_push_buffer(this.pointer, buffer) === FLOW_OK;
  }

  /** Signals end-of-stream. */
  end(): void {
    native().gst_app_src_end_of_stream(this.pointer);
  }
}
