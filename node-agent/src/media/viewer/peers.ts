import { delay, type Timer } from '@footlight/platform';
import type { SignalErrorCode } from '@footlight/protocol';
import type { AgentSignal, StreamSpec } from '@footlight/protocol/agent';
import { type ControlBye, FILES_LABEL } from '@footlight/protocol/input';
import { type IceServer, MAKE_BEFORE_BREAK_MS, type ServiceBye } from '@footlight/protocol/signal';
import type { AgentEventType } from '@footlight/protocol/telemetry';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import type { FallbackAccess } from '../fallback/fallback-offer.ts';
import type { PageRights } from '../input/page-rights.ts';
import type { SessionInput } from '../input/session-input.ts';
import { type MediaClock, wallTimeOf } from '../session/media-clock.ts';
import type { LocalNameResolver } from '../webrtc/mdns.ts';
import {
  type AttachedSocket,
  decideAttach,
  decideBye,
  decideConnected,
  decideEnd,
  decideRenegotiate,
  decideReplacement,
  electActive,
  type Negotiation,
  type Offer,
} from '../webrtc/negotiation.ts';
import { type OwnChannel, Peer, type PeerEvents } from '../webrtc/peer.ts';
import type { AttachMessage, BrowserSignal } from '../worker/worker-messages.ts';
import type { PeerMediaCounts } from './peer-media.ts';
import { ViewerChannels } from './viewer-channels.ts';
import type { PathListener } from './viewer-path.ts';

export interface PeersEvents {
  signal(conn: number, msg: AgentSignal): void;
  event(event: AgentEventType, payload: Record<string, unknown>): void;
  /** Called at each change; `connected` says whether any connection is connected. */
  onViewer(connected: boolean): void;
  onKeyframeWanted(): void;
  onClipboard(text: string): void;
  onWindowUse(id: number): void;
  /** Called when a viewer that supports file transfers has opened its channel for them. */
  onFilesChannel(channel: OwnChannel): void;
  /** Called when a viewer can receive the cursor, the app state and other messages. */
  onViewerReady(channels: ViewerChannels): void;
  onFirstOffer(): void;
  /** Called with each packet of the microphone of the viewer whose input is active. */
  onMicPacket(pcId: string, packet: Buffer): void;
  /** `drawn` says whether the viewer with the active input draws the pointer. */
  onPointerDrawn(drawn: boolean): void;
  /** Called when another connection or no connection carries the picture. */
  onPathChanged(): void;
  /** Path events of the connection that carries the picture. */
  path: PathListener;
}

export interface PeersOptions {
  stream: StreamSpec;
  addresses: readonly string[] | null;
  ports: readonly [number, number] | null;
  fallback: FallbackAccess | null;
  clock: MediaClock;
  uuid(): string;
  random32(): number;
  resolver: LocalNameResolver;
  input: SessionInput;
  /** What the person of these pages may do. */
  rights: PageRights;
  /** Whether input is applied now. */
  acceptsInput(): boolean;
  /** Largest file that viewers may transfer, in MiB; null: file transfers are disabled. */
  maxFileMb: number | null;
  events: PeersEvents;
}

interface Viewer {
  peer: Peer;
  channels: ViewerChannels;
  /** Runs while the last control message is being sent; then the connection is closed. */
  goodbye: Timer | null;
}

interface Attached extends AttachedSocket {
  readonly iceServers: readonly IceServer[];
}

/** Time that the last control message gets before its connection is closed. */
const GOODBYE_MS = 150;

/**
 * The peer connections of one person in a session: one attached socket, one newest negotiation, and at most one older
 * connection that keeps playing until the newer one is connected or 10 s have passed. negotiation.ts makes the
 * decisions, and this class applies them.
 *
 * A detach does not close a connection. Teardown: close() sends a last control message and closes all connections.
 */
export class Peers {
  readonly #options: PeersOptions;
  /** Connections with their channels, oldest first. */
  #viewers: Viewer[] = [];
  #attached: Attached | null = null;
  #newestPcId: string | null = null;
  #active: Viewer | null = null;
  #offered = false;
  #renegotiatedAtMs = Number.NEGATIVE_INFINITY;
  #replaceTimer: Timer | null = null;
  #bitrateKbps: number;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#bitrateKbps = options.stream.bitrate_kbps;
  }

  /** The newest connected peer; null: no peer is connected. */
  get active(): Peer | null {
    return this.#active?.peer ?? null;
  }

  attach({ conn, client_id: clientId, hello, ice_servers: iceServers }: AttachMessage): void {
    const request = { conn, clientId, resumePcId: hello.resume?.pc_id ?? null };
    const decision = decideAttach(this.#negotiation, request);
    if (decision.kind === 'ignore') return;
    this.#attached = { conn, clientId, iceServers, offered: false, retried: false };
    if (decision.kind === 'resume') this.#signal({ type: 'resumed', pc_id: decision.pcId });
    else this.#offer(decision.offer);
  }

  detach(conn: number): void {
    if (this.#attached?.conn === conn) this.#attached = null;
  }

  onSignal(conn: number, msg: BrowserSignal): void {
    if (this.#attached?.conn !== conn) return;
    if (msg.type === 'bye') this.#dropAll(decideBye(this.#negotiation));
    else if (msg.type === 'renegotiate') this.#renegotiate(msg.pc_id);
    // An answer for an unknown connection is ignored, because that connection was replaced.
    else if (msg.type === 'answer') this.#viewer(msg.pc_id)?.peer.answer(msg.sdp);
    else this.#viewer(msg.pc_id)?.peer.candidate(msg.candidate);
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

  /** Called instead of sendFrame() when nobody may see a frame. */
  skipFrame(): void {
    for (const { peer } of this.#viewers) peer.media.skipFrame();
  }

  sendAudio(packet: AudioPacket): void {
    for (const { peer } of this.#viewers) peer.media.sendAudio(packet);
  }

  /** Stops sending on the picture's path until its queue has drained. */
  hold(): void {
    this.#active?.peer.media.hold();
  }

  /** Probes the picture's path with padding up to a rate in kbit/s. */
  probe(kbps: number): void {
    this.#active?.peer.media.path.probe(kbps);
  }

  /** Called when the encoder's target changed, in kbit/s. */
  setRate(bitrateKbps: number): void {
    this.#bitrateKbps = bitrateKbps;
    for (const { peer } of this.#viewers) peer.media.setRate(bitrateKbps);
  }

  /** Numbers of packets and frames of each connection since the last call. */
  takeCounts(): PeerMediaCounts[] {
    return this.#viewers.map(({ peer }) => peer.media.takeCounts());
  }

  /** Called a few times a second: releases the keys of a silent viewer, and reports a path without events. */
  tick(): void {
    for (const { peer, channels } of this.#viewers) {
      channels.tick();
      peer.media.path.poll();
    }
  }

  /** Visits the channels of each viewer. */
  forEach(visit: (channels: ViewerChannels) => void): void {
    for (const { channels } of this.#viewers) visit(channels);
  }

  /**
   * @param reason sent to viewers over the control channel
   * @param signal sent to their sockets
   */
  async close(reason: ControlBye['reason'], signal: ServiceBye['reason'] = 'session_ended'): Promise<void> {
    this.#replaceTimer?.cancel();
    const hadViewers = this.#viewers.length > 0;
    for (const { channels } of this.#viewers) channels.control({ type: 'bye', reason });
    this.#signal({ type: 'bye', reason: signal });
    this.#attached = null;
    for (const { channels } of this.#viewers) channels.close();
    if (hadViewers) await delay(this.#options.clock, GOODBYE_MS);
    for (const viewer of [...this.#viewers]) this.#drop(viewer);
  }

  get #negotiation(): Negotiation {
    return {
      attached: this.#attached,
      connections: this.#viewers.map(({ peer, goodbye }) => {
        return { pcId: peer.pcId, clientId: peer.clientId, state: peer.state, leaving: goodbye !== null };
      }),
      newestPcId: this.#newestPcId,
      renegotiatedAtMs: this.#renegotiatedAtMs,
    };
  }

  #viewer(pcId: string): Viewer | undefined {
    return this.#viewers.find(({ peer }) => peer.pcId === pcId);
  }

  #renegotiate(pcId: string): void {
    const nowMs = this.#options.clock.monotonicMs();
    const decision = decideRenegotiate(this.#negotiation, pcId, nowMs);
    if (decision.kind === 'ignore') return;
    this.#renegotiatedAtMs = nowMs;
    this.#offer(decision.offer);
  }

  #offer({ reason, closes, isCareful }: Offer): void {
    const attached = this.#attached;
    if (!attached) return;
    this.#dropAll(closes);
    if (!this.#offered) {
      this.#offered = true;
      this.#options.events.onFirstOffer();
    }
    const pcId = this.#options.uuid();
    this.#newestPcId = pcId;
    // Assigned later, because the events need the viewer, the viewer needs the peer, and the peer needs the events.
    let viewer: Viewer | null = null;
    const { stream, addresses, ports, fallback, clock, random32, resolver } = this.#options;
    const peer = new Peer({
      pcId,
      clientId: attached.clientId,
      stream,
      iceServers: attached.iceServers,
      addresses,
      ports,
      fallback,
      isCareful,
      clock,
      random32,
      resolver,
      events: this.#peerEvents(pcId, reason, () => viewer),
    });
    this.#attached = { ...attached, offered: true };
    viewer = { peer, channels: this.#openChannels(peer), goodbye: null };
    peer.media.setRate(this.#bitrateKbps);
    peer.media.path.listener = this.#pathOf(peer);
    peer.media.onPlayoutChanged = ({ fromMs, toMs, reason: why }) =>
      this.#options.events.event('playout.changed', { pc: pcId, from_ms: fromMs, to_ms: toMs, reason: why });
    this.#viewers.push(viewer);
    peer.offer();
    this.#armReplacement();
  }

  /** Reports of other paths are ignored, because rate control reads only the path that carries the picture. */
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
    const { stream, clock, input, rights, acceptsInput, maxFileMb, events } = this.#options;
    const channels: ViewerChannels = new ViewerChannels({
      pcId: peer.pcId,
      stream,
      clock,
      input,
      rights,
      acceptsInput,
      maxFileMb,
      send: (channel, data, limit) => peer.send(channel, data, limit),
      onClipboard: (text) => events.onClipboard(text),
      onWindowUse: (id) => events.onWindowUse(id),
      onFreeze: () => peer.media.onFreeze(),
      onReady: () => events.onViewerReady(channels),
      onGreeted: (features) => {
        this.#reportPointer();
        if (maxFileMb === null || !features.includes('files')) return;
        const files = peer.openChannel(FILES_LABEL);
        if (files !== null) events.onFilesChannel(files);
      },
      onOffence: (code) => {
        channels.control({ type: 'error', code, message: 'too much input that cannot be used' });
        channels.control({ type: 'bye', reason: 'error' });
        const offender = this.#viewers.find((viewer) => viewer.peer === peer);
        if (!offender) return;
        channels.close();
        this.#dropSoon(offender);
      },
    });
    return channels;
  }

  #peerEvents(pcId: string, reason: Offer['reason'], own: () => Viewer | null): PeerEvents {
    const { events } = this.#options;
    return {
      onOffer: (sdp) => this.#signal({ type: 'offer', pc_id: pcId, sdp, reason }),
      onCandidate: (candidate, mid) => this.#signal({ type: 'candidate', pc_id: pcId, candidate, mid }),
      onConnected: () => this.#onConnected(pcId),
      onInterrupted: () => this.#electActive(),
      onFailed: (why, message) => {
        const viewer = own();
        if (viewer) this.#drop(viewer);
        const { error, offer } = decideEnd(this.#negotiation, pcId, why);
        if (error !== null) this.#error(error, message);
        else events.event('transport.peer_disconnected', { pc: pcId, error: message });
        if (offer === null || !this.#attached) return;
        this.#attached = { ...this.#attached, retried: true };
        this.#offer(offer);
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

  #onConnected(pcId: string): void {
    for (const { pcId: olderId, takenOver } of decideConnected(this.#negotiation, pcId)) {
      const older = this.#viewer(olderId);
      if (!older) continue;
      if (takenOver) older.channels.control({ type: 'bye', reason: 'taken_over' });
      older.channels.setActive(false);
      this.#dropSoon(older);
    }
    this.#electActive();
  }

  /** Assigns input and idle time to the newest connected peer. */
  #electActive(): void {
    const pcId = electActive(this.#negotiation.connections);
    const active = pcId === null ? null : (this.#viewer(pcId) ?? null);
    if (active === this.#active) return;
    const wasConnected = this.#active !== null;
    this.#active?.channels.setActive(false);
    this.#active = active;
    active?.channels.setActive(true);
    this.#options.events.onPathChanged();
    this.#reportPointer();
    if (wasConnected !== (active !== null)) this.#options.events.onViewer(active !== null);
  }

  #reportPointer(): void {
    if (this.#active) this.#options.events.onPointerDrawn(this.#active.channels.drawsCursor);
  }

  #armReplacement(): void {
    this.#replaceTimer?.cancel();
    this.#replaceTimer = null;
    if (this.#viewers.length < 2) return;
    this.#replaceTimer = this.#options.clock.setTimeout(() => {
      this.#replaceTimer = null;
      const { closes, failed } = decideReplacement(this.#negotiation);
      this.#dropAll(closes);
      if (failed) this.#error('ice_timeout', 'the new connection did not come up; the former one stays');
    }, MAKE_BEFORE_BREAK_MS);
  }

  #dropAll(pcIds: readonly string[]): void {
    for (const pcId of pcIds) {
      const viewer = this.#viewer(pcId);
      if (viewer) this.#drop(viewer);
    }
  }

  /** Closes a viewer's connection after its last control message was sent. */
  #dropSoon(viewer: Viewer): void {
    viewer.goodbye ??= this.#options.clock.setTimeout(() => this.#drop(viewer), GOODBYE_MS);
  }

  #drop(viewer: Viewer): void {
    viewer.goodbye?.cancel();
    const index = this.#viewers.indexOf(viewer);
    if (index >= 0) this.#viewers.splice(index, 1);
    if (this.#viewers.length === 0) this.#replaceTimer?.cancel();
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
