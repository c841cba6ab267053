import { Pipeline } from '@footlight/gst';
import { errorText } from '@footlight/platform';
import { VOICE_SINK_NAME } from '../../display/audio-server.ts';
import { firstError } from '../encode/video-pipeline.ts';
import { RateWindow } from '../input/input-guard.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { MIC_PAYLOAD_TYPE } from '../webrtc/sdp-offer.ts';

export interface MicrophoneOptions {
  /** PulseAudio server string of the session. */
  server: string;
  monotonicMs(): number;
  onProblem(why: string): void;
}

/**
 * Limit of packets per second. Opus sends 50 to 100 packets a second, or 400 of the shortest ones (2.5 ms, RFC 6716).
 */
const MAX_PACKETS_PER_SECOND = 450;
/** Largest packet: an Ethernet frame. A frame of Opus has at most 1,275 bytes (RFC 6716, 3.4). */
const MAX_PACKET_BYTES = 1_500;

/**
 * A viewer's microphone: Opus over RTP → the source that apps record from. Only for sessions with a microphone.
 *
 * silent → (a packet) → opening → playing → (a packet of another connection) → opening … → closed. Each connection has
 * its own pipeline, because its sequence numbers and timestamps start at other values. Owner: the media session;
 * close() once.
 */
export class Microphone {
  readonly #options: MicrophoneOptions;
  readonly #rate = new RateWindow(MAX_PACKETS_PER_SECOND);
  /** The connection whose microphone is heard; null: none. */
  #from: string | null = null;
  #pipeline: Pipeline | null = null;
  /** Serializes opening and closing of pipelines. */
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: MicrophoneOptions) {
    this.#options = options;
  }

  /** Called with a packet of the connection whose input is active. Packets before the pipeline is open are dropped. */
  packet(pcId: string, packet: Buffer): void {
    if (this.#closed || packet.length > MAX_PACKET_BYTES) return;
    if (readRtpHeader(packet)?.payloadType !== MIC_PAYLOAD_TYPE) return;
    if (!this.#rate.take(this.#options.monotonicMs())) return;
    if (pcId !== this.#from) this.#listenTo(pcId);
    this.#pipeline?.appSrc('packets').push(packet);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listenTo(null);
    await this.#work;
  }

  #listenTo(pcId: string | null): void {
    this.#from = pcId;
    const former = this.#pipeline;
    this.#pipeline = null;
    this.#work = this.#work
      .then(async () => {
        await former?.dispose();
        if (pcId === null || pcId !== this.#from) return;
        const pipeline = await openPipeline(this.#options.server);
        // Checked, because another connection may be active now.
        if (pcId === this.#from) this.#pipeline = pipeline;
        else await pipeline.dispose();
      })
      .catch((error: unknown) => this.#options.onProblem(errorText(error)));
  }
}

/** @throws when an element is missing, or the audio server refuses */
async function openPipeline(server: string): Promise<Pipeline> {
  const pipeline = Pipeline.launch(
    [
      // The queue is bounded and drops the oldest packets, because late sound is worse than lost sound.
      'appsrc name=packets is-live=true format=time do-timestamp=true max-buffers=50 leaky-type=downstream',
      `application/x-rtp,media=audio,encoding-name=OPUS,clock-rate=48000,payload=${MIC_PAYLOAD_TYPE}`,
      'rtpjitterbuffer latency=40 drop-on-latency=true do-lost=true',
      'rtpopusdepay',
      'opusdec plc=true use-inband-fec=true',
      'audioconvert',
      'audioresample',
      'audio/x-raw,format=S16LE,rate=48000,channels=1',
      'pulsesink name=sink provide-clock=false buffer-time=60000 latency-time=10000',
    ].join(' ! '),
  );
  try {
    pipeline.useSystemClock();
    const sink = pipeline.element('sink');
    sink.setProperty('server', server);
    sink.setProperty('device', VOICE_SINK_NAME);
    sink.setProperty('client-name', 'viewer microphone');
    await pipeline.setState('playing');
    return pipeline;
  } catch (error) {
    const reason = firstError(pipeline.pollBus());
    await pipeline.dispose();
    throw reason === null ? error : new Error(reason);
  }
}
