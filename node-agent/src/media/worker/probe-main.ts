/**
 * One encoder test, measurement or inspection: reads a request from its channel, answers once and exits. The parent
 * enforces the time limit, so this process does not check for a hanging driver.
 */

import { hasElement, hasPlugin, initialise, Pipeline, version } from '@footlight/gst';
import { delay, errorText } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import {
  type ChosenElement,
  chooseElement,
  configureEncoder,
  encodeBranch,
} from '../encode/encoder-elements.ts';
import { type EncoderRow, type EncodeTarget, encoderRow, FAMILY_SOURCES } from '../encode/encoders.ts';
import { PAYLOADING, packetMaker } from '../encode/payloading.ts';
import {
  type EncoderInspection,
  type ProbeAnswer,
  type ProbeRequest,
  probeRequest,
} from '../encode/probe-messages.ts';
import { systemMediaClock } from '../session/media-clock.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import { openParentChannel } from './child-entry.ts';

/**
 * Number of frames to encode: 30 to test an encoder, and 90 frames of 1280×720 to measure its throughput
 * (docs/media.md, "Codecs").
 */
const PROVE_FRAMES = 30;
const MEASURE_FRAMES = 90;
const WIDTH = 1280;
const HEIGHT = 720;
/**
 * Time limit of a frame. It is below the limit of the whole probe (10 s), so that the child itself can report which
 * step was slow.
 */
const PULL_MS = withPatience(9_000);

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
    settings: readMediaSettings(request.settings),
  };
  if (request.kind === 'inspect') return { ok: true, why: '', inspection: await inspect(row, target) };
  const chosen = chooseElement(row, target);
  const missing = [...(chosen ? [] : [row.elements[0]?.name ?? '']), ...lackingElements(row)];
  if (!chosen || missing.length > 0) return { ok: false, why: `GStreamer lacks ${missing.join(', ')}` };
  if (request.kind === 'prove') {
    const { size } = await encode(row, chosen, target, PROVE_FRAMES);
    return { ok: true, why: '', ...size };
  }
  const { elapsedMs } = await encode(row, chosen, target, MEASURE_FRAMES);
  return { ok: true, why: '', mpix_s: (MEASURE_FRAMES * WIDTH * HEIGHT) / 1e6 / (elapsedMs / 1000) };
}

/** Elements that the row's encoder needs and that are not installed. */
function lackingElements(row: EncoderRow): string[] {
  return [row.upload, ...PAYLOADING[row.codec].elements.map(({ name }) => name)].filter(
    (name) => name !== '' && !hasElement(name),
  );
}

async function inspect(row: EncoderRow, target: EncodeTarget): Promise<EncoderInspection> {
  const chosen = chooseElement(row, target);
  const seen: EncoderInspection = {
    gstreamer: version(),
    plugin: hasPlugin(FAMILY_SOURCES[row.family].plugin),
    element: chosen?.name ?? null,
    missing: [],
    refused: [],
    lacking: lackingElements(row),
    problem: null,
  };
  if (!chosen) return seen;
  // A second element is added, because a description of one element does not create a pipeline.
  const pipeline = Pipeline.launch(`identity ${chosen.name} name=encoder`);
  try {
    return { ...seen, ...configureEncoder(pipeline, chosen, target) };
  } catch (error) {
    return { ...seen, problem: errorText(error) };
  } finally {
    await pipeline.dispose();
  }
}

/**
 * Encodes moving test pictures. The pictures are created in advance, so that the measurement does not include their
 * generation.
 * @returns milliseconds from the request of the first frame to the last frame, and the largest picture that the encoder
 * accepts
 * @throws with the pipeline's reason when frames are missing
 */
async function encode(
  row: EncoderRow,
  chosen: ChosenElement,
  target: EncodeTarget,
  frames: number,
): Promise<{ elapsedMs: number; size: LargestPicture }> {
  const pipeline = Pipeline.launch(
    [
      `videotestsrc pattern=zone-plate kx2=20 ky2=20 kt=4 num-buffers=${frames}`,
      `video/x-raw,format=${row.format},width=${WIDTH},height=${HEIGHT},framerate=60/1`,
      `queue name=prepared max-size-buffers=${frames} max-size-bytes=0 max-size-time=0 min-threshold-buffers=${frames}`,
      encodeBranch(row, chosen, target),
      'appsink name=out sync=false buffer-list=true',
    ].join(' ! '),
  );
  try {
    configureEncoder(pipeline, chosen, target);
    const sink = pipeline.appSink('out');
    await pipeline.setState('playing');
    const toPackets = packetMaker(row.codec);
    let seen = 0;
    // The queue releases its first frame only when it contains the last one.
    const startedAtMs = await untilPrepared(pipeline, frames);
    while (seen < frames) {
      const sample = await sink.pull(PULL_MS);
      if (!sample) break;
      // The marker bit ends a frame.
      for (const packet of sample.read().flatMap(toPackets)) if ((packet[1] ?? 0) & 0x80) seen++;
      sample.release();
    }
    if (seen < frames) {
      const fault = pipeline.pollBus().find((message) => message.kind === 'error');
      throw new Error(
        fault?.kind === 'error' ? fault.message : `only ${seen} of ${frames} frames were encoded`,
      );
    }
    const elapsedMs = systemMediaClock.monotonicMs() - startedAtMs;
    return { elapsedMs, size: largestPicture(pipeline.element('encoder').acceptedCaps('sink') ?? '') };
  } finally {
    await pipeline.dispose();
  }
}

interface LargestPicture {
  max_width?: number;
  max_height?: number;
}

/** Larger than any stream, so a larger limit of an encoder is not relevant. */
const LARGEST_SIDE = 7680;

/** Reads the largest width and height from caps. Missing limits, and limits larger than any stream, are omitted. */
function largestPicture(caps: string): LargestPicture {
  const upTo = (side: string) => {
    const ends = [...caps.matchAll(new RegExp(`${side}=\\(int\\)\\[ \\d+, (\\d+)`, 'g'))];
    return Math.max(0, ...ends.map((match) => Number(match[1])));
  };
  const [max_width, max_height] = [upTo('width'), upTo('height')];
  return {
    ...(max_width > 0 && max_width < LARGEST_SIDE ? { max_width } : {}),
    ...(max_height > 0 && max_height < LARGEST_SIDE ? { max_height } : {}),
  };
}

async function untilPrepared(pipeline: Pipeline, frames: number): Promise<number> {
  const queue = pipeline.element('prepared');
  let fullest = 0;
  for (;;) {
    const level = queue.getNumber('current-level-buffers');
    // The queue is full, or is already being emptied.
    if (level >= frames - 1 || level < fullest) return systemMediaClock.monotonicMs();
    fullest = level;
    await delay(systemMediaClock, 1);
  }
}

const channel = openParentChannel({
  onMessage: (raw) => {
    const request = probeRequest.parse(raw);
    probe(request)
      .catch((error: unknown) => ({ ok: false, why: errorText(error) }))
      .then((answer) => channel.send(answer, () => process.exit(0)));
  },
  onBroken: () => undefined,
  // The parent has ended, so the answer would not be read.
  onClosed: () => process.exit(1),
});
