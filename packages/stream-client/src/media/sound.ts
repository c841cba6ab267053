import type { AudioStatus } from '../types.ts';
import { Microphone } from './microphone.ts';
import type { Peer } from './peer.ts';
import type { Picture } from './picture.ts';

/**
 * Sound and microphone of one client. Both are off at the start, because browsers require a gesture.
 *
 * Sound: muted ⇄ playing. The person's choice is kept across connections. Owner: the client. dispose() closes the
 * microphone, and does not change the element's mute state and volume (0 to 1). `Picture` owns the element's tracks.
 */
export class Sound {
  #video: HTMLVideoElement;
  #picture: Picture;
  #onChange: (status: AudioStatus) => void;
  #wanted = false;
  #volume = 1;
  #available = false;
  #microphone = new Microphone(() => this.#report());

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
      microphone: this.#microphone.status,
    };
  }

  /** Another connection plays; the person's choice is kept. */
  attach(peer: Peer): void {
    this.#available = this.#picture.hasAudio;
    this.#video.muted = !this.#wanted;
    this.#microphone.attach(peer);
    this.#report();
  }

  async unmute(): Promise<boolean> {
    this.#wanted = true;
    this.#video.muted = false;
    const played = await this.#picture.play();
    if (!played) {
      // The browser refused to play with sound, so the picture continues without sound.
      this.#wanted = false;
      this.#video.muted = true;
      void this.#picture.play();
    }
    this.#report();
    return played;
  }

  mute(): void {
    this.#wanted = false;
    this.#video.muted = true;
    this.#report();
  }

  setVolume(volume: number): void {
    if (!Number.isFinite(volume)) return;
    this.#volume = Math.min(1, Math.max(0, volume));
    this.#video.volume = this.#volume;
    this.#report();
  }

  setMicrophone(on: boolean): Promise<AudioStatus['microphone']> {
    return this.#microphone.setEnabled(on);
  }

  /** Playback ended: closes the microphone. */
  closeMicrophone(): void {
    this.#microphone.attach(null);
  }

  dispose(): void {
    this.closeMicrophone();
  }

  #report(): void {
    this.#onChange(this.status);
  }
}
