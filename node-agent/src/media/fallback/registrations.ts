import { isAuthentic, readBindingRequest } from './stun.ts';

/** One WebRTC connection of this host that can be reached through the fallback port. */
export interface Registration {
  /** The host's fragment and password in its own session description (RFC 8839, 5.4). The password is secret. */
  ufrag: string;
  pwd: string;
  /** Address and UDP port of the connection on this host. */
  address: string;
  port: number;
}

/** Largest number of connections: the sessions of a host, each with owner and guests. Chosen, not measured. */
export const MAX_REGISTRATIONS = 512;

/** The registered connections, by fragment. Pure. */
export class Registrations {
  readonly #byUfrag = new Map<string, Registration>();

  /**
   * @returns false: refused, because the list is full or the fragment is taken. A media worker chooses its fragments, so
   * a later one must not receive the packets of an earlier one
   */
  add(registration: Registration): boolean {
    if (this.#byUfrag.has(registration.ufrag) || this.#byUfrag.size >= MAX_REGISTRATIONS) return false;
    this.#byUfrag.set(registration.ufrag, registration);
    return true;
  }

  remove(ufrag: string): void {
    this.#byUfrag.delete(ufrag);
  }

  /** The connection for which an unknown sender's first packet is; null: none, and the sender gets no answer. */
  admit(packet: Buffer): Registration | null {
    const request = readBindingRequest(packet);
    const registration = request === null ? undefined : this.#byUfrag.get(request.ufrag);
    if (request === null || registration === undefined) return null;
    return isAuthentic(request, registration.pwd) ? registration : null;
  }
}
