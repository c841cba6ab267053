import { BUFFER_PTS, NS_PER_MS } from './buffer-layout.ts';
import { native, writeUint64 } from './native.ts';
import { GstObject } from './object.ts';

const FLOW_OK = 0;

/** An appsrc element. push() never waits, so limits must be set in the pipeline's description. */
export class AppSrc extends GstObject {
  /**
   * Pushes a copy of the bytes as one buffer.
   * @param ptsMs presentation time in milliseconds of running time; null: the buffer has none
   * @returns false: the pipeline refuses the buffer, because it is not running or has ended
   */
  push(data: Uint8Array, ptsMs: number | null = null): boolean {
    // Not released here, because the element takes over the reference even if it refuses the buffer.
    const buffer = native().gst_buffer_new_memdup(data, data.length);
    if (ptsMs !== null) writeUint64(buffer, BUFFER_PTS, BigInt(Math.round(ptsMs * NS_PER_MS)));
    return native().gst_app_src_push_buffer(this.pointer, buffer) === FLOW_OK;
  }

  /** Signals the end of the stream. */
  end(): void {
    native().gst_app_src_end_of_stream(this.pointer);
  }
}
