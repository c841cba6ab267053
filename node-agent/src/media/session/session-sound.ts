import { errorText } from '@footlight/platform';
import { type AudioPacket, AudioPipeline } from '../encode/audio-pipeline.ts';
import { Microphone } from '../viewer/microphone.ts';
import type { MediaReports } from './media-reports.ts';

export interface SessionSoundOptions {
  /** PulseAudio server string of the session. */
  server: string;
  /** Whether viewers hear the session's sound. */
  audio: boolean;
  /** Whether apps hear a viewer's microphone. */
  mic: boolean;
  monotonicMs(): number;
  reports: MediaReports;
  onPacket(packet: AudioPacket): void;
}

/**
 * Both directions of one session's sound: the captured sound of its sound server, and a viewer's microphone. A failure
 * of the sound is reported once and does not end the session. Owner: the media session; start() once, dispose() once.
 */
export class SessionSound {
  readonly #reports: MediaReports;
  readonly #audio: AudioPipeline | null;
  readonly #microphone: Microphone | null;
  #degraded = false;

  /** Never throws. */
  constructor(options: SessionSoundOptions) {
    const { server, audio, mic, monotonicMs, reports } = options;
    this.#reports = reports;
    this.#audio = audio ? this.#capture(options) : null;
    const onProblem = (why: string) => reports.log('warn', 'media.microphone_failed', { why });
    this.#microphone = mic ? new Microphone({ server, monotonicMs, onProblem }) : null;
  }

  get hasCapture(): boolean {
    return this.#audio !== null;
  }

  get hasMicrophone(): boolean {
    return this.#microphone !== null;
  }

  /** Starts the capture of the sound. Returns at once, because the picture does not wait for the sound. */
  start(): void {
    this.#audio?.start().catch((error: unknown) => this.#degrade(errorText(error)));
  }

  /** Polls for errors; called a few times a second. */
  poll(): void {
    this.#audio?.poll();
  }

  /** Called with a packet of this viewer's microphone. */
  micPacket(pcId: string, packet: Buffer): void {
    this.#microphone?.packet(pcId, packet);
  }

  async dispose(): Promise<void> {
    await Promise.all([this.#audio?.dispose(), this.#microphone?.close()]);
  }

  #capture({ server, onPacket }: SessionSoundOptions): AudioPipeline | null {
    try {
      return new AudioPipeline(server, {
        onPacket,
        onError: (source, message) => this.#degrade(`${source}: ${message}`),
      });
    } catch (error) {
      this.#degrade(errorText(error));
      return null;
    }
  }

  #degrade(reason: string): void {
    if (this.#degraded) return;
    this.#degraded = true;
    this.#reports.event('audio.degraded', { reason: reason.slice(0, 512), required: false });
    this.#reports.log('warn', 'media.audio_degraded', { reason });
  }
}
