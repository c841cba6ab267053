import { BUFFER_PTS, NS_PER_MS } from './buffer-layout.ts';
import { CLOCK_TIME_NONE, native, type Pointer, readUint64, takeString } from './native.ts';
import { GstObject } from './object.ts';

/** Bytes reserved for one buffer: usually, a buffer of a list is one packet. */
const PACKET_ROOM = 2_048;
/**
 * Size of the memory blocks from which packets are allocated, because one allocation per packet would take longer than
 * the copy.
 */
const SLAB_BYTES = 64 * 1024;

export interface MediaBuffer {
  /** A copy, which the caller owns. */
  data: Buffer;
  /** Presentation time, in milliseconds of running time; null: the buffer has none. */
  ptsMs: number | null;
}

/**
 * One pulled sample, which is an owned reference. Release it right after reading, because the pipeline's buffer pools
 * are small.
 */
export class Sample {
  #pointer: Pointer | null;

  constructor(pointer: Pointer) {
    this.#pointer = pointer;
  }

  get #live(): Pointer {
    if (this.#pointer === null) throw new Error('GStreamer sample used after release');
    return this.#pointer;
  }

  /** Presentation time of the first buffer in milliseconds, read without copying bytes; null: the buffer has none. */
  get ptsMs(): number | null {
    const first = this.#buffers()[0];
    return first === undefined ? null : readPtsMs(first);
  }

  /**
   * Copies the sample's buffers. A plain sample has one buffer. A buffer list has several: the packets of one access
   * unit, with the same time.
   */
  read(): MediaBuffer[] {
    const buffers = this.#buffers();
    const ptsMs = buffers[0] === undefined ? null : readPtsMs(buffers[0]);
    return buffers.map((buffer) => ({ data: copyOut(buffer), ptsMs }));
  }

  /** Caps as text; null: the sample has no caps. */
  caps(): string | null {
    const caps = native().gst_sample_get_caps(this.#live);
    return caps ? takeString(native().gst_caps_to_string(caps)) : null;
  }

  release(): void {
    if (this.#pointer === null) return;
    native().gst_mini_object_unref(this.#pointer);
    this.#pointer = null;
  }

  /** Buffers of the sample. They are borrowed, so they must not be used after the sample's release. */
  #buffers(): Pointer[] {
    const single = native().gst_sample_get_buffer(this.#live);
    if (single) return [single];
    const list = native().gst_sample_get_buffer_list(this.#live);
    if (!list) return [];
    const buffers: Pointer[] = [];
    const length = native().gst_buffer_list_length(list);
    for (let index = 0; index < length; index++) {
      const buffer = native().gst_buffer_list_get(list, index);
      if (buffer) buffers.push(buffer);
    }
    return buffers;
  }
}

/** An appsink element. At most one pull may run at a time, so call pull() in a loop. */
export class AppSink extends GstObject {
  #pulling: ((sample: Sample | null) => void) | null = null;
  #listening = false;

  /**
   * Waits for a sample.
   * @param timeoutMs longest wait in milliseconds; default: no limit
   * @returns null: the time limit has passed, the stream has ended, or the pipeline was stopped
   * @throws when another pull is running
   */
  pull(timeoutMs?: number): Promise<Sample | null> {
    if (this.#pulling) throw new Error('appsink is being pulled already');
    this.#listen();
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? null : setTimeout(() => this.stopped(), timeoutMs);
      this.#pulling = (sample) => {
        this.#pulling = null;
        if (timer) clearTimeout(timer);
        resolve(sample);
      };
      this.#takeSample();
    });
  }

  /** Returns a sample that is already available; null: there is none. */
  pullNow(): Sample | null {
    const sample = native().gst_app_sink_try_pull_sample(this.pointer, 0);
    return sample ? new Sample(sample) : null;
  }

  /** Whether the stream has ended. Also true before the element is started. */
  get ended(): boolean {
    return native().gst_app_sink_is_eos(this.pointer);
  }

  /** Called when the pipeline stops: ends a running pull. */
  stopped(): void {
    this.#pulling?.(null);
  }

  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.setProperty('emit-signals', true);
    this.onSignal(['new-sample', 'eos'], () => this.#takeSample());
  }

  #takeSample(): void {
    if (!this.#pulling) return;
    const sample = this.pullNow();
    if (sample) this.#pulling(sample);
    // Deferred, so that a caller that pulls in a loop does not block the event loop.
    else if (this.ended) setImmediate(() => this.stopped());
  }
}

let slab = Buffer.alloc(0);

/**
 * Copies the bytes of a buffer. A call into the library costs as much as a small copy, so only one call is made per
 * packet.
 */
function copyOut(buffer: Pointer): Buffer {
  if (slab.length < PACKET_ROOM) slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  const copied = Number(native().gst_buffer_extract(buffer, 0, slab, PACKET_ROOM));
  if (copied < PACKET_ROOM) {
    const data = slab.subarray(0, copied);
    slab = slab.subarray(copied);
    return data;
  }
  const size = Number(native().gst_buffer_get_size(buffer));
  const data = Buffer.allocUnsafe(size);
  return data.subarray(0, Number(native().gst_buffer_extract(buffer, 0, data, size)));
}

function readPtsMs(buffer: Pointer): number | null {
  const pts = readUint64(buffer, BUFFER_PTS);
  return pts === CLOCK_TIME_NONE ? null : Number(pts) / NS_PER_MS;
}
