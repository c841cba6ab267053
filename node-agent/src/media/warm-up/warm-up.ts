import { hasElement, Pipeline } from '@footlight/gst';
import * as datachannel from 'node-datachannel';
import {
  type ChosenElement,
  chooseElement,
  configureEncoder,
  encodeBranch,
} from '../encode/encoder-elements.ts';
import { type EncoderRow, type EncodeTarget, encoderRow } from '../encode/encoders.ts';
import { packetMaker } from '../encode/payloading.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import type { WarmEncoderMessage } from '../worker/worker-messages.ts';

/**
 * Number of frames. The first frame loads the encoder, and the next frames load its code for reference frames. More
 * frames were not measured.
 */
const FRAMES = 4;
/**
 * Time limit per frame. If a frame exceeds this limit, nothing is reported, because the session itself reports an
 * encoder that does not work.
 */
const PULL_MS = 500;
/**
 * Time limit per frame if the driver has not been used since the host booted. It is below the limit of the whole
 * warm-up (10 s).
 */
const COLD_PULL_MS = 8_000;
/** Elements of a session's pipelines that the pipeline of the warm-up does not contain. */
const OTHERS = ['ximagesrc', 'pulsesrc', 'audioconvert', 'audioresample', 'opusenc', 'rtpopuspay'];
const TARGET: EncodeTarget = {
  width: 640,
  height: 360,
  fps: 60,
  bitrateKbps: 1000,
  h264Profile: 'constrained-baseline',
  renderNode: null,
  settings: readMediaSettings({}),
};

/**
 * Warms up a media worker, so that the session does not wait for work that is done only once: plugins are loaded with
 * their first element, machine code is read from disk when it first runs, and the WebRTC library starts its threads
 * with its first connection. Uses no display, sound server or network.
 * @throws when a GStreamer element is missing
 */
export async function warmUp(): Promise<void> {
  new datachannel.PeerConnection('warm-up', { iceServers: [], disableAutoNegotiation: true }).close();
  const others = OTHERS.filter((name) => hasElement(name));
  if (others.length > 0) await Pipeline.launch(others.join(' ')).dispose();
  const row = encoderRow('openh264', 'h264');
  const encoder = row && chooseElement(row, TARGET);
  if (row && encoder) await encodeFrames(row, encoder, TARGET, PULL_MS);
}

/**
 * Loads the driver of an encoder, and fills its caches in memory and on disk for the next process. Uses no display,
 * sound server or network.
 * @throws when the encoder is missing, or does not encode
 */
export async function warmEncoder({
  codec,
  encoder: { family, render_node },
  settings,
}: Pick<WarmEncoderMessage, 'codec' | 'encoder' | 'settings'>): Promise<void> {
  const target = { ...TARGET, renderNode: render_node, settings: readMediaSettings(settings) };
  const row = encoderRow(family, codec);
  const encoder = row && chooseElement(row, target);
  if (!row || !encoder) throw new Error(`this host has no encoder of ${family} for ${codec}`);
  if (!(await encodeFrames(row, encoder, target, COLD_PULL_MS)))
    throw new Error(`${encoder.name} encoded no frame within ${COLD_PULL_MS} ms`);
}

/**
 * Encodes FRAMES frames of a test picture.
 * @param pullMs time limit for each frame
 * @returns false: the frames were not encoded in time
 */
async function encodeFrames(
  row: EncoderRow,
  encoder: ChosenElement,
  target: EncodeTarget,
  pullMs: number,
): Promise<boolean> {
  const pipeline = Pipeline.launch(
    [
      // The source sends no end-of-stream, because OpenH264 reports an error for the empty frame that signals it.
      'videotestsrc',
      `video/x-raw,format=BGRx,width=${target.width},height=${target.height},framerate=${target.fps}/1`,
      'videoconvertscale',
      `video/x-raw,format=${row.format}`,
      'queue max-size-buffers=1',
      encodeBranch(row, encoder, target),
      'appsink name=packets sync=false async=false buffer-list=true max-buffers=1',
    ].join(' ! '),
  );
  try {
    configureEncoder(pipeline, encoder, target);
    await pipeline.setState('playing');
    const sink = pipeline.appSink('packets');
    const toPackets = packetMaker(row.codec);
    for (let frames = 0; frames < FRAMES; ) {
      const sample = await sink.pull(pullMs);
      if (!sample) return false;
      // The last packet of a frame has the marker.
      for (const packet of sample.read().flatMap(toPackets)) if ((packet[1] ?? 0) & 0x80) frames++;
      sample.release();
    }
    return true;
  } finally {
    await pipeline.dispose();
  }
}
