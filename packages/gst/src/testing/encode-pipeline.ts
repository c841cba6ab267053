import type { Pipeline } from '../index.ts';

/** Description of a pipeline that encodes thirty small pictures. */
export const ENCODE =
  'videotestsrc name=source num-buffers=30 ! video/x-raw,width=320,height=240,framerate=30/1 ! openh264enc name=encoder ! h264parse ! rtph264pay pt=96 ! appsink name=sink sync=false buffer-list=true';
/** Time limit of a pull, which only a broken pipeline exceeds. */
export const PULL_LIMIT_MS = 60_000;

/** Reads the sink of this pipeline until the stream has ended. */
export async function drain(from: Pipeline): Promise<{ buffers: number; bytes: number; frames: number }> {
  const sink = from.appSink('sink');
  const total = { buffers: 0, bytes: 0, frames: 0 };
  for (;;) {
    const sample = await sink.pull(PULL_LIMIT_MS);
    if (!sample) return total;
    for (const { data } of sample.read()) {
      total.buffers++;
      total.bytes += data.length;
      if ((data[1] ?? 0) & 0x80) total.frames++;
    }
    sample.release();
  }
}
