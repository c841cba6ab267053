import type { AudioStatus } from '../types.ts';
import type { Peer } from './peer.ts';

type Status = AudioStatus['microphone'];

/**
 * The page's microphone. It is off until the person turns it on, and is open only while on. The browser asks the person
 * for permission. If the person turns the microphone off or leaves the page during this question, no microphone opens.
 *
 * off → (the browser's question) → on → off, or denied, or unavailable (no device, or no microphone in the session);
 * denied and unavailable count as off. Owns the browser's input stream while on; attach(null) closes the stream.
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

  /** Another connection plays; an open microphone is moved to this connection. null: no connection plays. */
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
    // The device was unplugged, or its permission was revoked in the browser.
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
