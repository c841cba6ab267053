import { hasElement, initialise, Pipeline } from '@footlight/gst';
import { configureEncoder, encodeBranch } from './encode-branch.ts';
import { type EncoderRow, type EncodeTarget, encoderRow } from './encoders.ts';
import { readMediaSettings } from './media-settings.ts';
import { type ProbeAnswer, type ProbeRequest, probeRequest } from './probe-messages.ts';

/**
 * One encoder proof or measurement: reads a request from its channel, answers once and exits. The parent ends it
 * after its time limit, so nothing here guards against a driver that hangs.
 */

const PROVE_FRAMES = 30;
const MEASURE_FRAMES = 90;
const WIDTH = 1280;
const HEIGHT = 720;
const PULL_MS = 9_000;

async function probe(request: ProbeRequest): Promise<ProbeAnswer> {
  initialise();
  const row = encoderRow(request.family, request.codec);
  if (!row) return { ok: false, why: `${request.family} has no ${request.codec}` };
  const target: EncodeTarget = {
    width: WIDTH,
    height: HEIGHT,
    fps: 60,
    bitrateKbps: 6000,
    h264Profile: 'constrained-baseline',
    renderNode: request.render_node,
    settings: readMediaSettings({}),
  };
  const missing = missingElements(row, target);
  if (missing.length > 0) return { ok: false, why: `GStreamer lacks ${missing.join(', ')}` };
  const frames = request.kind === 'prove' ? PROVE_FRAMES : MEASURE_FRAMES;
  const elapsedMs = await encode(row, target, frames);
  if (request.kind === 'prove') return { ok: true, why: '' };
  return { ok: true, why: '', mpix_s: (frames * WIDTH * HEIGHT) / 1e6 / (elapsedMs / 1000) };
}

function missingElements(row: EncoderRow, target: EncodeTarget): string[] {
  const needed = [
    row.element(target.renderNode),
    row.upload,
    row.parser,
    row.payloader ?? `rtp${row.codec}pay`,
  ];
  return needed.map((element) => element.split(' ')[0] ?? '').filter((name) => name && !hasElement(name));
}

/**
 * Encodes moving test pictures that were made beforehand, so that the generator's cost stays outside.
 * @returns time from the first encoded frame's request to the last one, milliseconds
 * @throws with the pipeline's own reason when fewer frames come out
 */
async function encode(row: EncoderRow, target: EncodeTarget, frames: number): Promise<number> {
  const pipeline = Pipeline.launch(
    [
      `videotestsrc pattern=zone-plate kx2=20 ky2=20 kt=4 num-buffers=${frames}`,
      `video/x-raw,format=${row.format},width=${WIDTH},height=${HEIGHT},framerate=60/1`,
      `queue name=prepared max-size-buffers=${frames} max-size-bytes=0 max-size-time=0 min-threshold-buffers=${frames}`,
      encodeBranch(row, target),
      'appsink name=out sync=false buffer-list=true',
    ].join(' ! '),
  );
  try {
    configureEncoder(pipeline, row, target);
    const sink = pipeline.appSink('out');
    await pipeline.setState('playing');
    let seen = 0;
    // The queue lets go of its first frame when the last one is in.
    const startedAt = await untilPrepared(pipeline, frames);
    while (seen < frames) {
      const sample = await sink.pull(PULL_MS);
      if (!sample) break;
      // The marker bit ends a frame.
      for (const packet of sample.read()) if ((packet.data[1] ?? 0) & 0x80) seen++;
      sample.release();
    }
    if (seen < frames) {
      const fault = pipeline.pollBus().find((message) => message.kind === 'error');
      throw new Error(
        fault?.kind === 'error' ? fault.message : `only ${seen} of ${frames} frames were encoded`,
      );
    }
    return performance.now() - startedAt;
  } finally {
    await pipeline.dispose();
  }
}

async function untilPrepared(pipeline: Pipeline, frames: number): Promise<number> {
  const queue = pipeline.element('prepared');
  let fullest = 0;
  for (;;) {
    const level = queue.getNumber('current-level-buffers');
    // Full, or draining already.
    if (level >= frames - 1 || level < fullest) return performance.now();
    fullest = level;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

process.once('message', (raw) => {
  const request = probeRequest.parse(raw);
  probe(request)
    .catch((error: unknown) => ({ ok: false, why: error instanceof Error ? error.message : String(error) }))
    .then((answer) => process.send?.(answer, () => process.exit(0)));
});
// Nobody is left to read the answer.
process.once('disconnect', () => process.exit(1));
