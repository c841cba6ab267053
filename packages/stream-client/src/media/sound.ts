/** Sound out and microphone in. Both start off, since browsers allow neither without the person's act. */
import type { AudioStatus } from '../types.ts';
import type { Peer } from './peer.ts';
import type { Picture } from './picture.ts';

export class Sound {
  #video: HTMLVideoElement;
  #picture: Picture;
  #onChange: (status: AudioStatus) => void;
  #wanted = false;
  #volume = 1;
  #available = false;
  #microphone: AudioStatus['microphone'] = 'off';
  #input: MediaStream | null = null;
  #peer: Peer | null = null;

  constructor(video: HTMLVideoElement, picture: Picture, onChange: (status: AudioStatus) => void) {
    this.#video = video;
    this.#picture = picture;
    this.#onChange = onChange;
    this.#volume = video.volume;
  }

  get status(): AudioStatus {
    return {
      available: this.#available,
      muted: !this.#wanted,
      volume: this.#volume,
      microphone: this.#microphone,
    };
  }

  /** Another connection plays; what the person chose stays. */
  attach(peer: Peer | null): void {
    this.#peer = peer;
    this.#available = this.#picture.hasAudio;
    this.#video.muted = !this.#wanted;
    const track = this.#input?.getAudioTracks()[0];
    if (track !== undefined) void peer?.setMicrophone(track).catch(() => undefined);
    this.#tell();
  }

  async unmute(): Promise<boolean> {
    this.#wanted = true;
    this.#video.muted = false;
    const played = await this.#picture.play();
    if (!played) {
      // A silent picture is better than a stopped one.
      this.#wanted = false;
      this.#video.muted = true;
      void this.#picture.play();
    }
    this.#tell();
    return played;
  }

  mute(): void {
    this.#wanted = false;
    this.#video.muted = true;
    this.#tell();
  }

  setVolume(volume: number): void {
    if (!Number.isFinite(volume)) return;
    this.#volume = Math.min(1, Math.max(0, volume));
    this.#video.volume = this.#volume;
    this.#tell();
  }

  async setMicrophone(on: boolean): Promise<AudioStatus['microphone']> {
    this.#microphone = on ? await this.#open() : this.#close();
    this.#tell();
    return this.#microphone;
  }

  dispose(): void {
    this.#close();
    this.#peer = null;
  }

  async #open(): Promise<AudioStatus['microphone']> {
    if (this.#peer === null || navigator.mediaDevices === undefined) return 'unavailable';
    try {
      this.#input ??= await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true } });
    } catch {
      return 'denied';
    }
    const track = this.#input.getAudioTracks()[0] ?? null;
    const taken = await this.#peer?.setMicrophone(track).catch(() => false);
    if (taken) return 'on';
    this.#close();
    return 'unavailable';
  }

  #close(): 'off' {
    for (const track of this.#input?.getTracks() ?? []) track.stop();
    this.#input = null;
    void this.#peer?.setMicrophone(null).catch(() => undefined);
    return 'off';
  }

  #tell(): void {
    this.#onChange(this.status);
  }
}
