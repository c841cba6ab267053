import type { AgentSignal, StreamSpec } from '@footlight/protocol/agent';
import {
  type IceServer,
  MAKE_BEFORE_BREAK_MS,
  RENEGOTIATE_INTERVAL_MS,
  type SignalErrorCode,
} from '@footlight/protocol/signal';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import type { SessionInput } from '../input/session-input.ts';
import { type MediaClock, wallTimeOf } from '../session/media-clock.ts';
import type { LocalNameResolver } from '../webrtc/mdns.ts';
import { Peer, type PeerEvents } from '../webrtc/peer.ts';
import type { AttachMessage, BrowserSignal } from '../worker/worker-messages.ts';
import type { PathListener, PeerMediaCounts } from './peer-media.ts';
import { ViewerChannels } from './viewer-channels.ts';

/**
 * The peer connections of one session: one attached socket, one newest negotiation, and at most one older connection
 * that plays on until the newer one is connected (make before break) or 10 s have passed.
 *
 * attach resumes a connected one of the same client, otherwise offers a new one; an attach of another client is a
 * takeover. detach closes nothing. Teardown: close() says goodbye and closes all connections.
 *
 * A failed handshake is retried once per socket. Every offer after a socket's first one is careful (see Peer).
 */

export interface PeersEvents {
  signal(conn: number, msg: AgentSignal): void;
  event(event: string, payload: Record<string, unknown>): void;
  /** Whether any connection is connected; at each change. */
  onViewer(connected: boolean): void;
  onKeyframeWanted(): void;
  onClipboard(text: string): void;
  /** A viewer is ready for cursor, app state and other messages. */
  onViewerReady(channels: ViewerChannels): void;
  onFirstOffer(): void;
  /** Packets of the viewer with the active input. */
  onMicPacket(pcId: string, packet: Buffer): void;
  /** Whether the viewer with the active input draws the pointer. */
  onPointerDrawn(drawn: boolean): void;
  /** Another connection, or none, carries the picture. */
  onPathChanged(): void;
  /** Path events of the connection that carries the picture. */
  path: PathListener;
}

export interface PeersOptions {
  stream: StreamSpec;
  addresses: readonly string[] | null;
  ports: readonly [number, number] | null;
  clock: MediaClock;
  uuid(): string;
  random32(): number;
  resolver: LocalNameResolver;
  input: SessionInput;
  events: PeersEvents;
}

interface Viewer {
  peer: Peer;
  channels: ViewerChannels;
}

interface Attached {
  conn: number;
  clientId: string;
  iceServers: readonly IceServer[];
  /** Whether it got an offer. */
  offered: boolean;
  /** Whether a failed handshake was already retried. */
  retried: boolean;
}

/** Time for the last control message to leave before its connection closes. */
const GOODBYE_MS = 150;

export class Peers {
  readonly #options: PeersOptions;
  /** Oldest first. */
  #viewers: Viewer[] = [];
  #attached: Attached | null = null;
  #newestPcId: string | null = null;
  #active: Viewer | null = null;
  #offered = false;
  #renegotiatedAtMs = Number.NEGATIVE_INFINITY;
  #replaceTimer: NodeJS.Timeout | null = null;
  #bitrateKbps: number;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#bitrateKbps = options.stream.bitrate_kbps;
  }

  /** The newest connected peer; null: none. */
  get active(): Peer | null {
    return this.#active?.peer ?? null;
  }

  attach(message: AttachMessage): void {
    // Socket numbers grow; a message of an older one is late.
    if (this.#attached !== null && message.conn <= this.#attached.conn) return;
    this.#attached = {
      conn: message.conn,
      clientId: message.client_id,
      iceServers: message.ice_servers,
      offered: false,
      retried: false,
    };
    const resumable = this.#viewers.find(
      ({ peer }) =>
        peer.pcId === message.hello.resume?.pc_id &&
        peer.clientId === message.client_id &&
        peer.state === 'connected',
    );
    if (resumable) {
      this.#signal({ type: 'resumed', pc_id: resumable.peer.pcId });
      return;
    }
    const others = this.#viewers.some(({ peer }) => peer.clientId !== message.client_id);
    this.#offer(this.#viewers.length === 0 ? 'first' : others ? 'takeover' : 'renegotiate');
  }

  detach(conn: number): void {
    if (this.#attached?.conn === conn) this.#attached = null;
  }

  onSignal(conn: number, msg: BrowserSignal): void {
    if (this.#attached?.conn !== conn) return;
    if (msg.type === 'bye') {
      const { clientId } = this.#attached;
      for (const viewer of this.#viewers.filter(({ peer }) => peer.clientId === clientId)) this.#drop(viewer);
      return;
    }
    const viewer = this.#viewers.find(({ peer }) => peer.pcId === msg.pc_id);
    if (msg.type === 'renegotiate') {
      // The connection was replaced; the newer offer answers it.
      if (msg.pc_id !== this.#newestPcId) return;
      const nowMs = this.#options.clock.monotonicMs();
      if (nowMs - this.#renegotiatedAtMs < RENEGOTIATE_INTERVAL_MS) return;
      this.#renegotiatedAtMs = nowMs;
      this.#offer(this.#viewers.length === 0 ? 'first' : 'renegotiate');
      return;
    }
    // An unknown connection was replaced.
    if (msg.type === 'answer') viewer?.peer.answer(msg.sdp);
    else viewer?.peer.candidate(msg.candidate);
  }

  sendFrame(frame: EncodedFrame): void {
    const { clock } = this.#options;
    for (const { peer, channels } of this.#viewers) {
      const rtpTimestamp = peer.media.sendFrame(frame);
      if (rtpTimestamp === null) continue;
      channels.onFrame({
        rtpTimestamp,
        capturedAtMs: frame.capturedAtMs,
        captureWallMs: wallTimeOf(frame.capturedAtMs, clock),
        encodeMs: frame.encodeMs,
      });
    }
  }

  sendAudio(packet: AudioPacket): void {
    for (const { peer } of this.#viewers) peer.media.sendAudio(packet);
  }

  /** Stops sending on the picture's path until its queue has drained. */
  hold(): void {
    this.#active?.peer.media.hold();
  }

  /** Probes that path with padding up to a rate, kbit/s. */
  probe(kbps: number): void {
    this.#active?.peer.media.probe(kbps);
  }

  /** The encoder's target changed, kbit/s. */
  setRate(bitrateKbps: number): void {
    this.#bitrateKbps = bitrateKbps;
    for (const { peer } of this.#viewers) peer.media.setRate(bitrateKbps);
  }

  /** Counts of each connection since the last call. */
  takeCounts(): PeerMediaCounts[] {
    return this.#viewers.map(({ peer }) => peer.media.takeCounts());
  }

  /** Call a few times a second: releases the keys of a silent viewer, and reports a silent path. */
  tick(): void {
    for (const { peer, channels } of this.#viewers) {
      channels.tick();
      peer.media.look();
    }
  }

  /** Visits the channels of each viewer. */
  forEach(visit: (channels: ViewerChannels) => void): void {
    for (const { channels } of this.#viewers) visit(channels);
  }

  /** @param reason for viewers over the control channel; sockets get session_ended */
  async close(reason: 'session_ended' | 'idle_timeout' | 'error'): Promise<void> {
    if (this.#replaceTimer) clearTimeout(this.#replaceTimer);
    const hadViewers = this.#viewers.length > 0;
    for (const { channels } of this.#viewers) channels.control({ type: 'bye', reason });
    this.#signal({ type: 'bye', reason: 'session_ended' });
    this.#attached = null;
    if (hadViewers) await new Promise((resolve) => setTimeout(resolve, GOODBYE_MS));
    for (const viewer of [...this.#viewers]) this.#drop(viewer);
  }

  #offer(reason: 'first' | 'renegotiate' | 'takeover'): void {
    const attached = this.#attached;
    if (!attached) return;
    // Of the former ones only a connected one is kept.
    for (const viewer of [...this.#viewers]) {
      if (viewer.peer.state === 'offered' || viewer.peer.state === 'answered') this.#drop(viewer);
    }
    if (!this.#offered) {
      this.#offered = true;
      this.#options.events.onFirstOffer();
    }
    const pcId = this.#options.uuid();
    this.#newestPcId = pcId;
    // Cyclic: the events need the viewer, which needs the peer, which needs the events.
    let viewer: Viewer | null = null;
    const { stream, addresses, ports, clock, random32, resolver } = this.#options;
    const peer = new Peer({
      pcId,
      clientId: attached.clientId,
      stream,
      iceServers: attached.iceServers,
      addresses,
      ports,
      isCareful: attached.offered,
      clock,
      random32,
      resolver,
      events: this.#peerEvents(pcId, reason, () => viewer),
    });
    attached.offered = true;
    viewer = { peer, channels: this.#openChannels(peer) };
    peer.media.setRate(this.#bitrateKbps);
    peer.media.path = this.#pathOf(peer);
    peer.media.onPlayoutChanged = ({ fromMs, toMs, reason: why }) =>
      this.#options.events.event('playout.changed', { pc: pcId, from_ms: fromMs, to_ms: toMs, reason: why });
    this.#viewers.push(viewer);
    peer.offer();
    this.#armReplacement(viewer);
  }

  #offerOnceMore(failedPcId: string): void {
    if (!this.#attached || this.#attached.retried || failedPcId !== this.#newestPcId) return;
    this.#attached.retried = true;
    this.#offer(this.#viewers.length === 0 ? 'first' : 'renegotiate');
  }

  /** Rate control reads only the path that carries the picture. */
  #pathOf(peer: Peer): PathListener {
    const { path } = this.#options.events;
    const counts = () => this.#active?.peer === peer;
    return {
      onPath: (view, nowMs) => counts() && path.onPath(view, nowMs),
      onDrained: (nowMs) => {
        if (counts()) path.onDrained(nowMs);
        else this.#options.events.onKeyframeWanted();
      },
      onProbed: (result, nowMs) => counts() && path.onProbed(result, nowMs),
    };
  }

  #openChannels(peer: Peer): ViewerChannels {
    const { stream, clock, input, events } = this.#options;
    const channels: ViewerChannels = new ViewerChannels({
      pcId: peer.pcId,
      stream,
      clock,
      input,
      send: (channel, data, limit) => peer.send(channel, data, limit),
      onClipboard: (text) => events.onClipboard(text),
      onFreeze: () => peer.media.onFreeze(),
      onReady: () => events.onViewerReady(channels),
      onGreeted: () => this.#tellPointer(),
      onOffence: (code) => {
        channels.control({ type: 'error', code, message: 'too much input that cannot be used' });
        channels.control({ type: 'bye', reason: 'error' });
        const offender = this.#viewers.find((viewer) => viewer.peer === peer);
        if (!offender) return;
        channels.close();
        setTimeout(() => this.#drop(offender), GOODBYE_MS);
      },
    });
    return channels;
  }

  #peerEvents(
    pcId: string,
    reason: 'first' | 'renegotiate' | 'takeover',
    own: () => Viewer | null,
  ): PeerEvents {
    const { events } = this.#options;
    return {
      onOffer: (sdp) => this.#signal({ type: 'offer', pc_id: pcId, sdp, reason }),
      onCandidate: (candidate, mid) => this.#signal({ type: 'candidate', pc_id: pcId, candidate, mid }),
      onConnected: () => {
        const viewer = own();
        if (viewer) this.#onConnected(viewer);
      },
      onInterrupted: () => this.#electActive(),
      onFailed: (why, message) => {
        const viewer = own();
        if (viewer) this.#drop(viewer);
        if (why === 'connection_failed' || why === 'handshake_failed') {
          events.event('transport.peer_disconnected', { pc: pcId, error: message });
          if (why === 'handshake_failed') this.#offerOnceMore(pcId);
        } else {
          this.#error(why, message);
        }
      },
      onAnswerApplied: (lines) => {
        const m_lines = lines.map(({ mid, kind, codec, port, direction, rejected }) => {
          return { mid, kind, codec, port, direction, rejected };
        });
        const rejected_count = lines.filter((line) => line.rejected).length;
        events.event('sdp.answer_applied', { pc: pcId, m_lines, rejected_count });
      },
      onDescriptionFailed: (kind, why, benign) =>
        events.event('webrtc.remote_description_failed', { pc: pcId, reason: why, kind, benign }),
      onStateChanged: (kind, from, to) => events.event('webrtc.state_changed', { kind, from, to, pc: pcId }),
      onKeyframeWanted: () => events.onKeyframeWanted(),
      onMicPacket: (packet) => {
        if (pcId === this.#active?.peer.pcId) events.onMicPacket(pcId, packet);
      },
      onChannelOpen: (channel) => own()?.channels.onOpen(channel),
      onChannelClosed: () => own()?.channels.releaseAll(),
      onMessage: (channel, data) => own()?.channels.onMessage(channel, data),
    };
  }

  #onConnected(viewer: Viewer): void {
    const index = this.#viewers.indexOf(viewer);
    if (index < 0) return;
    // Make before break: this one is connected, so the older ones are closed.
    for (const older of this.#viewers.slice(0, index)) {
      if (older.peer.clientId !== viewer.peer.clientId) {
        older.channels.control({ type: 'bye', reason: 'taken_over' });
      }
      older.channels.setActive(false);
      setTimeout(() => this.#drop(older), GOODBYE_MS);
    }
    this.#electActive();
  }

  /** Input and idle time follow the newest connected peer. */
  #electActive(): void {
    const active = this.#viewers.findLast(({ peer }) => peer.state === 'connected') ?? null;
    if (active === this.#active) return;
    const wasConnected = this.#active !== null;
    this.#active?.channels.setActive(false);
    this.#active = active;
    active?.channels.setActive(true);
    this.#options.events.onPathChanged();
    this.#tellPointer();
    if (wasConnected !== (active !== null)) this.#options.events.onViewer(active !== null);
  }

  #tellPointer(): void {
    if (this.#active) this.#options.events.onPointerDrawn(this.#active.channels.drawsCursor);
  }

  /** After 10 s the replacement ends: closes the side that is not connected, or the older one if both or none is. */
  #armReplacement(newest: Viewer): void {
    if (this.#replaceTimer) clearTimeout(this.#replaceTimer);
    this.#replaceTimer = null;
    if (this.#viewers.length < 2) return;
    this.#replaceTimer = setTimeout(() => {
      this.#replaceTimer = null;
      const olderOnes = this.#viewers.filter((viewer) => viewer !== newest);
      const stillPlays = olderOnes.some(({ peer }) => peer.state === 'connected');
      if (stillPlays && newest.peer.state !== 'connected') {
        this.#drop(newest);
        this.#error('ice_timeout', 'the new connection did not come up; the former one stays');
      } else {
        for (const older of olderOnes) this.#drop(older);
      }
    }, MAKE_BEFORE_BREAK_MS);
  }

  #drop(viewer: Viewer): void {
    const index = this.#viewers.indexOf(viewer);
    if (index >= 0) this.#viewers.splice(index, 1);
    viewer.channels.close();
    viewer.peer.close();
    this.#electActive();
  }

  #error(code: SignalErrorCode, message: string): void {
    this.#signal({ type: 'error', code, message, fatal: false });
  }

  #signal(msg: AgentSignal): void {
    if (this.#attached) this.#options.events.signal(this.#attached.conn, msg);
  }
}
