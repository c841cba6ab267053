import { hasElement, Pipeline } from '@footlight/gst';
import * as datachannel from 'node-datachannel';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import { chooseElement, configureEncoder, encodeBranch } from './encoder-elements.ts';
import { type EncodeTarget, encoderRow } from './encoders.ts';

/** The first frame loads the encoder, the next ones its handling of references. More were not measured. */
const FRAMES = 4;
/** Per frame. The session itself reports an encoder that does not work. */
const PULL_MS = 500;
/** Elements of a session's pipelines that the warm-up frames do not pass. */
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
 * Warms up a media worker: plugins are loaded when their first element is created, machine code is read from disk
 * when it first runs, and the WebRTC library starts its threads with its first connection. Uses no display, sound
 * server or network.
 * @throws when a GStreamer element is missing
 */
export async function warmUp(): Promise<void> {
  new datachannel.PeerConnection('warm-up', { iceServers: [], disableAutoNegotiation: true }).close();
  const others = OTHERS.filter((name) => hasElement(name));
  if (others.length > 0) await Pipeline.launch(others.join(' ')).dispose();
  const row = encoderRow('openh264', 'h264');
  const encoder = row && chooseElement(row, TARGET);
  if (!row || !encoder) return;
  const pipeline = Pipeline.launch(
    [
      // Without EOS: this encoder reports an error for the empty frame that signals it.
      'videotestsrc',
      `video/x-raw,format=BGRx,width=${TARGET.width},height=${TARGET.height},framerate=${TARGET.fps}/1`,
      'videoconvertscale',
      `video/x-raw,format=${row.format}`,
      'queue max-size-buffers=1',
      encodeBranch(row, encoder, TARGET),
      'appsink name=packets sync=false async=false buffer-list=true max-buffers=1',
    ].join(' ! '),
  );
  try {
    configureEncoder(pipeline, encoder, TARGET);
    await pipeline.setState('playing');
    const sink = pipeline.appSink('packets');
    for (let frames = 0; frames < FRAMES; ) {
      const sample = await sink.pull(PULL_MS);
      if (!sample) return;
      for (const { data } of sample.read()) if (readRtpHeader(data)?.marker) frames++;
      sample.release();
    }
  } finally {
    await pipeline.dispose();
  }
}
