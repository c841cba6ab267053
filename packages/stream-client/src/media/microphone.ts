import type { AudioStatus } from '../types.ts';
import type { Peer } from './peer.ts';

type Status = AudioStatus['microphone'];

/**
 * The page's microphone: off until the person turns it on, and open only while on. The browser asks for permission; if
 * it is turned off, or the page is left, during that question, no microphone opens.
 *
 * off → (browser's question) → on → off, or denied, or unavailable (no device, no microphone in the session); the last two
 * count as off. Owns the browser's input stream while on; attach(null) closes it.
 */
export class Microphone {
  #onChange: () => void;
  #status: Status = 'off';
  #input: MediaStream | null = null;
  #peer: Pick<Peer, 'setMicrophone'> | null = null;
  /** number of the newest request, to detect outdated answers */
  #request = 0;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get status(): Status {
    return this.#status;
  }

  /** Another connection plays; an open microphone moves to it. null = none plays. */
  attach(peer: Pick<Peer, 'setMicrophone'> | null): void {
    this.#peer = peer;
    if (peer === null) this.#close('off');
    else if (this.#input !== null) void this.#send(this.#input);
  }

  async setEnabled(on: boolean): Promise<Status> {
    if (!on) {
      this.#close('off');
      return this.#status;
    }
    if (this.#input !== null) return this.#status;
    this.#request += 1;
    const own = this.#request;
    if (this.#peer === null || navigator.mediaDevices === undefined) return this.#set('unavailable');
    let input: MediaStream;
    try {
      input = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true } });
    } catch {
      return own === this.#request ? this.#set('denied') : this.#status;
    }
    if (own !== this.#request) {
      stop(input);
      return this.#status;
    }
    this.#input = input;
    const [track] = input.getAudioTracks();
    // Unplugged, or revoked in the browser.
    track?.addEventListener('ended', () => {
      if (this.#input === input) this.#close('off');
    });
    await this.#send(input);
    return this.#status;
  }

  async #send(input: MediaStream): Promise<void> {
    const track = input.getAudioTracks()[0] ?? null;
    const taken = (await this.#peer?.setMicrophone(track).catch(() => false)) ?? false;
    if (this.#input !== input) return;
    if (taken) this.#set('on');
    else this.#close('unavailable');
  }

  #close(status: Status): void {
    this.#request += 1;
    const input = this.#input;
    this.#input = null;
    if (input !== null) {
      stop(input);
      void this.#peer?.setMicrophone(null).catch(() => undefined);
    }
    this.#set(status);
  }

  #set(status: Status): Status {
    if (status !== this.#status) {
      this.#status = status;
      this.#onChange();
    }
    return status;
  }
}

function stop(input: MediaStream): void {
  for (const track of input.getTracks()) track.stop();
}
