import { Pipeline } from '@footlight/gst';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { AUDIO_PAYLOAD_TYPE } from '../webrtc/sdp-offer.ts';
import { firstError } from './video-pipeline.ts';

export interface AudioPacket {
  packet: Buffer;
  rtpTimestamp: number;
  /** Capture time of the first sample, monotonic milliseconds. */
  capturedAtMs: number;
}

export interface AudioPipelineEvents {
  onPacket(packet: AudioPacket): void;
  onError(source: string, message: string): void;
}

/**
 * The sound pipeline of one session: null sink → Opus → RTP packets of 10 ms. Owner: the media session; start() once,
 * dispose() once.
 */
export class AudioPipeline {
  readonly #pipeline: Pipeline;
  readonly #events: AudioPipelineEvents;
  #loop: Promise<void> = Promise.resolve();
  #stopping = false;

  /**
   * @param server PulseAudio server string of the session
   * @throws when an element is missing
   */
  constructor(server: string, events: AudioPipelineEvents) {
    this.#events = events;
    this.#pipeline = Pipeline.launch(
      [
        'pulsesrc name=source device=@DEFAULT_MONITOR@ provide-clock=false buffer-time=40000 latency-time=10000',
        'audioconvert',
        'audioresample',
        'audio/x-raw,format=S16LE,rate=48000,channels=2',
        // audio-type is generic instead of voice, because the sound of games contains music.
        'opusenc name=encoder bitrate=128000 frame-size=10 inband-fec=true packet-loss-percentage=5 audio-type=generic bitrate-type=cbr complexity=5',
        `rtpopuspay pt=${AUDIO_PAYLOAD_TYPE} timestamp-offset=0 seqnum-offset=0 mtu=1180`,
        'appsink name=packets sync=false async=false max-buffers=50 drop=true',
      ].join(' ! '),
    );
    this.#pipeline.useSystemClock();
    this.#pipeline.element('source').setProperty('server', server);
    this.#pipeline.element('source').setProperty('client-name', 'session capture');
  }

  /** @throws when the audio server refuses */
  async start(): Promise<void> {
    try {
      await this.#pipeline.setState('playing');
    } catch (error) {
      throw new Error(firstError(this.#pipeline.pollBus()) ?? String(error));
    }
    this.#loop = this.#pull();
  }

  /** Polls the bus, a few times a second while the pipeline runs. Reports errors. */
  poll(): void {
    for (const message of this.#pipeline.pollBus()) {
      if (message.kind === 'error') this.#events.onError(message.source, message.message);
    }
  }

  async dispose(): Promise<void> {
    this.#stopping = true;
    await this.#pipeline.setState('null').catch(() => undefined);
    await this.#loop.catch(() => undefined);
    await this.#pipeline.dispose();
  }

  async #pull(): Promise<void> {
    const sink = this.#pipeline.appSink('packets');
    while (!this.#stopping && !sink.ended) {
      const sample = await sink.pull();
      if (!sample) continue;
      const buffers = sample.read();
      sample.release();
      const baseMs = this.#pipeline.baseTimeMs;
      for (const { data, ptsMs } of buffers) {
        const header = readRtpHeader(data);
        if (!header) continue;
        this.#events.onPacket({
          packet: data,
          rtpTimestamp: header.timestamp,
          capturedAtMs: baseMs + (ptsMs ?? 0),
        });
      }
    }
  }
}
