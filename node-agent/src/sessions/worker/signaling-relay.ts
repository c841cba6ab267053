import type { ControlSignaling } from '@footlight/protocol/agent';
import { MAX_GUESTS } from '@footlight/protocol/guests';
import type { ParentMessage } from '../../media/worker/worker-messages.ts';

/** Largest number of messages queued for a worker that has no session yet. */
const HELD_LIMIT = 80;

/** Largest number of guests with a relay: those on the list, and as many that were removed from it. */
const MAX_GUEST_RELAYS = 2 * MAX_GUESTS;

/** Relays signaling of a session's owner and of its guests; each of them has their own newest socket. */
export class SignalingRelays {
  readonly #send: (message: ParentMessage) => void;
  readonly #owner: SignalingRelay;
  readonly #guests = new Map<string, SignalingRelay>();
  #open = false;

  constructor(send: (message: ParentMessage) => void) {
    this.#send = send;
    this.#owner = new SignalingRelay(send);
  }

  /** Called when the worker accepts messages. */
  open(): void {
    this.#open = true;
    for (const relay of [this.#owner, ...this.#guests.values()]) relay.open();
  }

  deliver(frame: ControlSignaling): void {
    this.#relayOf(frame)?.deliver(frame);
  }

  /** Forgets the sockets of guests who are not on the list. */
  keepGuests(ids: ReadonlySet<string>): void {
    for (const id of [...this.#guests.keys()]) if (!ids.has(id)) this.#guests.delete(id);
  }

  linkLost(): void {
    for (const relay of [this.#owner, ...this.#guests.values()]) relay.linkLost();
  }

  /** null: there are too many guests. */
  #relayOf({ conn, msg }: ControlSignaling): SignalingRelay | null {
    if (msg.type !== 'attach' || msg.guest === undefined)
      return [...this.#guests.values()].find((relay) => relay.conn === conn) ?? this.#owner;
    const known = this.#guests.get(msg.guest.id);
    if (known || this.#guests.size >= MAX_GUEST_RELAYS) return known ?? null;
    const relay = new SignalingRelay(this.#send);
    if (this.#open) relay.open();
    this.#guests.set(msg.guest.id, relay);
    return relay;
  }
}

/**
 * Relays signaling of one person from the link to a session's worker. If a browser socket is older than the newest
 * attached socket, its messages are dropped. If a socket is attached before the worker has its session, the messages
 * wait.
 */
export class SignalingRelay {
  readonly #send: (message: ParentMessage) => void;
  #conn: number | null = null;
  #attached = false;
  #open = false;
  #held: ParentMessage[] = [];

  constructor(send: (message: ParentMessage) => void) {
    this.#send = send;
  }

  /** Number of the attached browser socket; null: no socket is attached. */
  get conn(): number | null {
    return this.#attached ? this.#conn : null;
  }

  /** Called when the worker accepts messages. */
  open(): void {
    this.#open = true;
    for (const message of this.#held.splice(0)) this.#send(message);
  }

  deliver({ conn, msg }: ControlSignaling): void {
    if (this.#conn !== null && conn < this.#conn) return;
    switch (msg.type) {
      case 'attach':
        this.#conn = conn;
        this.#attached = true;
        // Dropped, because messages of an earlier socket are obsolete.
        this.#held = [];
        this.#pass({
          type: 'attach',
          conn,
          client_id: msg.client_id,
          hello: msg.hello,
          ice_servers: msg.ice_servers,
          ...(msg.guest !== undefined && { guest: msg.guest }),
        } as ParentMessage);
        return;
      case 'detach':
        if (conn === this.#conn) this.#detach(msg.reason);
        return;
      default:
        if (this.#attached && conn === this.#conn) this.#pass({ type: 'signal', conn, msg: { ...msg } });
    }
  }

  /**
   * Called when the link is lost: detaches every browser socket, but the media connections continue. Afterwards socket
   * numbers may be lower, because a restarted control plane takes them from its clock, which may have been set back.
   */
  linkLost(): void {
    if (this.#attached) this.#detach('closed');
    this.#conn = null;
  }

  #detach(reason: 'closed' | 'taken_over'): void {
    this.#attached = false;
    this.#held = [];
    if (this.#open && this.#conn !== null) this.#send({ type: 'detach', conn: this.#conn, reason });
  }

  #pass(message: ParentMessage): void {
    if (this.#open) this.#send(message);
    else if (this.#held.length < HELD_LIMIT) this.#held.push(message);
  }
}
