import type { Timer } from '@footlight/platform';
import type { AgentSignal, SessionGuests, StreamSpec } from '@footlight/protocol/agent';
import { type GuestRole, MAX_GUEST_MINUTES, OWNER_AWAY_MS } from '@footlight/protocol/guests';
import type { ControlBye, WatchingGuest } from '@footlight/protocol/input';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import type { PageRights } from '../input/page-rights.ts';
import type { PathView } from '../rate/estimate.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { KeyframeLimit } from '../rtp/keyframe-limit.ts';
import type { AttachMessage, BrowserSignal } from '../worker/worker-messages.ts';
import { Peers, type PeersOptions } from './peers.ts';
import type { ViewerChannels } from './viewer-channels.ts';

export interface GuestsEvents {
  signal(conn: number, msg: AgentSignal): void;
  onKeyframeWanted(): void;
  /** Called when a guest's page can receive the cursor, the app state and other messages. */
  onViewerReady(channels: ViewerChannels): void;
  /** Called when a guest connected, left or was removed. */
  onChanged(guests: WatchingGuest[]): void;
}

export interface GuestsOptions
  extends Omit<PeersOptions, 'rights' | 'acceptsInput' | 'maxFileMb' | 'events' | 'stream'> {
  /** The stream of the session; guests get it without the microphone. */
  stream: StreamSpec;
  events: GuestsEvents;
}

/**
 * Keyframes on request of one guest: two in ten seconds, later requests wait. A keyframe costs the owner quality,
 * because it takes bits from the pictures after it. At a GOP of a second, four guests who request keyframes all the
 * time cause less than one additional keyframe a second. Chosen, not measured.
 */
const KEYFRAMES = { windowMs: 10_000, perWindow: 2 } as const;
/**
 * Queueing delay of a guest's path above which the guest gets no frames until the queue is empty. The encoder follows
 * only the owner's path, so a slower guest must lose frames. Chosen, not measured.
 */
const MAX_QUEUE_MS = 200;
/** Longest time of a guest, which also keeps the time of the timer in the range of a 32-bit integer. */
const MAX_ENDS_IN_MS = MAX_GUEST_MINUTES * 60_000;

interface Guest {
  readonly id: string;
  readonly rights: PageRights & { role: GuestRole };
  name: string;
  /** null: the guest has not joined, or left. */
  peers: Peers | null;
  isConnected: boolean;
  readonly keyframes: KeyframeLimit;
  keyframeTimer: Timer | null;
  endTimer: Timer;
}

/**
 * The guests of one session. Each has its own peer connections, like the owner, but all get the frames of the session's
 * one encoder, whose rate follows the owner's path.
 *
 * The control plane's list decides who may be here and what they may do; messages of a guest's page cannot change it. A
 * guest is absent → listed (allow) → watching (attach) → absent (a list without the guest, or the end of its time).
 * While the owner's page is not connected, guests get no frames, and their input is ignored; after OWNER_AWAY_MS their
 * connections are closed, and they stay listed. Owner: the media session; close() once.
 */
export class Guests {
  readonly #options: GuestsOptions;
  readonly #guests = new Map<string, Guest>();
  #version = -1;
  #ownerWatches = false;
  #awayTimer: Timer | null = null;
  #bitrateKbps: number;
  #closed = false;

  constructor(options: GuestsOptions) {
    this.#options = options;
    this.#bitrateKbps = options.stream.bitrate_kbps;
  }

  /** The guests whose connections are open. */
  get watching(): WatchingGuest[] {
    return [...this.#guests.values()]
      .filter(({ isConnected }) => isConnected)
      .map(({ id, name, rights: { role, padIndex } }) => ({ id, name, role, pad_index: padIndex }));
  }

  /** Applies the list of the control plane: guests who are not on it are disconnected at once. */
  allow({ version, guests }: Pick<SessionGuests, 'version' | 'guests'>): void {
    if (this.#closed || version < this.#version) return;
    this.#version = version;
    const listed = new Set(guests.map(({ id }) => id));
    for (const guest of [...this.#guests.values()]) if (!listed.has(guest.id)) this.#remove(guest);
    for (const { id, role, pad_index: padIndex, ends_in_ms } of guests) {
      const endTimer = this.#options.clock.setTimeout(
        () => {
          const ended = this.#guests.get(id);
          if (ended) this.#remove(ended);
        },
        Math.min(ends_in_ms, MAX_ENDS_IN_MS),
      );
      const known = this.#guests.get(id);
      known?.endTimer.cancel();
      if (known) known.endTimer = endTimer;
      else
        this.#guests.set(id, {
          id,
          rights: { role, padIndex },
          name: '',
          peers: null,
          isConnected: false,
          keyframes: new KeyframeLimit(KEYFRAMES),
          keyframeTimer: null,
          endTimer,
        });
    }
  }

  /** A page of a guest connects. A guest who is not on the list gets `guest_ended`. */
  attach(message: AttachMessage & { guest: { id: string; name: string } }): void {
    const guest = this.#guests.get(message.guest.id);
    if (!guest) {
      this.#options.events.signal(message.conn, { type: 'bye', reason: 'guest_ended' });
      return;
    }
    guest.name = message.guest.name;
    guest.peers ??= this.#open(guest);
    guest.peers.attach(message);
    this.#watchOwner();
    // The name may be another one on a connection that continues.
    if (guest.isConnected) this.#changed();
  }

  detach(conn: number): void {
    for (const { peers } of this.#guests.values()) peers?.detach(conn);
  }

  onSignal(conn: number, msg: BrowserSignal): void {
    for (const { peers } of this.#guests.values()) peers?.onSignal(conn, msg);
  }

  /** Sets whether the owner's page is connected. */
  set ownerWatches(watches: boolean) {
    if (this.#ownerWatches === watches) return;
    this.#ownerWatches = watches;
    this.forEach((channels) => {
      if (!watches) channels.releaseAll();
      channels.control({ type: 'owner', watches });
    });
    this.#watchOwner();
  }

  sendFrame(frame: EncodedFrame): void {
    if (this.#guests.size === 0) return;
    const isStart = isKeyframe(this.#options.stream.codec, frame.packets);
    for (const guest of this.#guests.values()) {
      if (isStart) this.#settleKeyframe(guest);
      if (this.#ownerWatches) guest.peers?.sendFrame(frame);
      else guest.peers?.skipFrame();
    }
  }

  sendAudio(packet: AudioPacket): void {
    if (!this.#ownerWatches) return;
    for (const { peers } of this.#guests.values()) peers?.sendAudio(packet);
  }

  /** Called when the encoder's target changed, in kbit/s. */
  setRate(bitrateKbps: number): void {
    this.#bitrateKbps = bitrateKbps;
    for (const { peers } of this.#guests.values()) peers?.setRate(bitrateKbps);
  }

  tick(): void {
    for (const { peers } of this.#guests.values()) peers?.tick();
  }

  /** Visits the channels of each guest. */
  forEach(visit: (channels: ViewerChannels) => void): void {
    for (const { peers } of this.#guests.values()) peers?.forEach(visit);
  }

  async close(reason: ControlBye['reason']): Promise<void> {
    this.#closed = true;
    this.#awayTimer?.cancel();
    const guests = [...this.#guests.values()];
    this.#guests.clear();
    await Promise.all(guests.map((guest) => this.#leave(guest, reason, 'session_ended')));
  }

  /** Starts the limit of the owner's absence when there is a guest, and ends it when the owner is back. */
  #watchOwner(): void {
    const isNeeded = !this.#ownerWatches && [...this.#guests.values()].some(({ peers }) => peers !== null);
    if (!isNeeded) {
      this.#awayTimer?.cancel();
      this.#awayTimer = null;
    } else this.#awayTimer ??= this.#options.clock.setTimeout(() => this.#sendAway(), OWNER_AWAY_MS);
  }

  #sendAway(): void {
    this.#awayTimer = null;
    for (const guest of this.#guests.values()) void this.#leave(guest, 'owner_away', 'owner_away');
    this.#changed();
  }

  #remove(guest: Guest): void {
    guest.endTimer.cancel();
    this.#guests.delete(guest.id);
    void this.#leave(guest, 'guest_ended', 'guest_ended');
    this.#watchOwner();
    this.#changed();
  }

  /** Closes the connections of a guest. */
  async #leave(
    guest: Guest,
    reason: ControlBye['reason'],
    signal: 'session_ended' | 'guest_ended' | 'owner_away',
  ): Promise<void> {
    const { peers } = guest;
    guest.peers = null;
    guest.isConnected = false;
    guest.keyframeTimer?.cancel();
    guest.keyframeTimer = null;
    if (this.#closed) guest.endTimer.cancel();
    this.#options.input.takeOver(new Set(), guest.rights);
    await peers?.close(reason, signal);
  }

  #changed(): void {
    if (!this.#closed) this.#options.events.onChanged(this.watching);
  }

  #open(guest: Guest): Peers {
    const { events, stream, ...common } = this.#options;
    const isCurrent = () => guest.peers === peers;
    const peers: Peers = new Peers({
      ...common,
      stream: { ...stream, mic: false },
      rights: guest.rights,
      acceptsInput: () => this.#ownerWatches && isCurrent(),
      maxFileMb: null,
      events: {
        signal: (conn, msg) => events.signal(conn, msg),
        // The session's trace is about the owner's connection.
        event: () => undefined,
        onViewer: (connected) => {
          if (!isCurrent()) return;
          guest.isConnected = connected;
          if (!connected) this.#options.input.takeOver(new Set(), guest.rights);
          this.#changed();
        },
        onKeyframeWanted: () => {
          if (isCurrent()) this.#wantKeyframe(guest);
        },
        onClipboard: () => undefined,
        onWindowUse: () => undefined,
        onFilesChannel: (channel) => channel.close(),
        onViewerReady: (channels) => {
          channels.control({ type: 'owner', watches: this.#ownerWatches });
          events.onViewerReady(channels);
        },
        onFirstOffer: () => undefined,
        onMicPacket: () => undefined,
        onPointerDrawn: () => undefined,
        onPathChanged: () => undefined,
        path: {
          onPath: (path) => this.#followPath(peers, path),
          onDrained: () => this.#wantKeyframe(guest),
          onProbed: () => undefined,
        },
      },
    });
    peers.setRate(this.#bitrateKbps);
    return peers;
  }

  #followPath(peers: Peers, { queueingDelayMs }: PathView): void {
    if (queueingDelayMs > MAX_QUEUE_MS && peers.active?.media.path.isHeld === false) peers.hold();
  }

  #wantKeyframe(guest: Guest): void {
    if (guest.keyframeTimer) return;
    const { clock, events } = this.#options;
    const waitMs = guest.keyframes.request(clock.monotonicMs());
    if (waitMs === 0) events.onKeyframeWanted();
    if (waitMs === null || waitMs === 0) return;
    guest.keyframeTimer = clock.setTimeout(() => {
      guest.keyframeTimer = null;
      this.#wantKeyframe(guest);
    }, waitMs);
  }

  /** A keyframe of any cause answers the guest's requests. */
  #settleKeyframe(guest: Guest): void {
    guest.keyframes.onKeyframe();
    guest.keyframeTimer?.cancel();
    guest.keyframeTimer = null;
  }
}

/** Whether a page belongs to a guest. */
export function isOfGuest(
  message: AttachMessage,
): message is AttachMessage & { guest: NonNullable<AttachMessage['guest']> } {
  return message.guest !== undefined;
}
