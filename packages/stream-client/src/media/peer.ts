import { CHANNELS, type ChannelName, FILES_LABEL } from '@footlight/protocol/input';
import type { IceServer, Offer } from '@footlight/protocol/signal';
import type { Environment } from '../types.ts';
import { negotiatedCaptureTime, wantCaptureTime, wantPassive, wantStereo } from './answer.ts';

export interface PeerEvents {
  onState(peer: Peer, state: RTCPeerConnectionState): void;
  onIceState(peer: Peer, from: RTCIceConnectionState, to: RTCIceConnectionState): void;
  onAnswer(peer: Peer, sdp: string): void;
  /** candidate "": the end of candidates; mid null: the browser does not report the mid */
  onCandidate(peer: Peer, candidate: string, mid: string | null): void;
  onUnusable(peer: Peer, why: string): void;
  onChannelOpen(peer: Peer, name: ChannelName): void;
  /** the host has opened the channel for files */
  onFiles(peer: Peer): void;
  onBinary(peer: Peer, name: 'input' | 'motion', bytes: Uint8Array): void;
  onControl(peer: Peer, frame: string): void;
}

const MIC_MID = 'mic';

function toRtcIceServer({ urls, username, credential }: IceServer): RTCIceServer {
  const server: RTCIceServer = { urls };
  if (username !== undefined) server.username = username;
  if (credential !== undefined) server.credential = credential;
  return server;
}

/**
 * One RTCPeerConnection: answers one offer, and owns tracks and channels.
 *
 * new → (negotiate) → answered → connected ⇄ disconnected → failed, as in connectionState. A failed negotiation calls
 * onUnusable instead. In both directions, candidates that arrive too early are queued. Owner: the client. close()
 * closes channels and connection, and no event follows it; it may be called twice.
 */
export class Peer {
  readonly pcId: string;
  readonly offerReason: Offer['reason'];
  /** arrival time of the offer, monotonic ms */
  readonly offeredAtMs: number;
  readonly connection: RTCPeerConnection;
  readonly channels: Record<ChannelName, RTCDataChannel>;
  readonly tracks: MediaStreamTrack[] = [];
  /** null: the host has not opened the channel for files */
  files: RTCDataChannel | null = null;
  captureTimeNegotiated = false;
  /** control frames that wait until this connection is current */
  readonly early: string[] = [];
  #events: PeerEvents;
  #closed = false;
  /** candidates of the host that arrived before the offer was applied; null: it is applied */
  #pending: RTCIceCandidateInit[] | null = [];
  /** candidates of the browser that were found before the answer was sent; null: it is sent */
  #held: { candidate: string; mid: string | null }[] | null = [];
  #iceState: RTCIceConnectionState = 'new';

  constructor(environment: Environment, offer: Offer, iceServers: IceServer[], events: PeerEvents) {
    this.pcId = offer.pc_id;
    this.offerReason = offer.reason;
    this.offeredAtMs = environment.monotonicMs();
    this.#events = events;
    this.connection = environment.createPeerConnection({
      iceServers: iceServers.map(toRtcIceServer),
      bundlePolicy: 'max-bundle',
    });
    this.channels = {
      input: this.#channel('input'),
      motion: this.#channel('motion'),
      control: this.#channel('control'),
    };
    this.#listen();
  }

  /** Applies the offer and answers it. Never rejects. */
  async negotiate(offer: Offer): Promise<void> {
    try {
      await this.connection.setRemoteDescription({ type: 'offer', sdp: offer.sdp });
      for (const transceiver of this.connection.getTransceivers()) {
        if (transceiver.mid === MIC_MID) transceiver.direction = 'sendonly';
        else if (transceiver.receiver.track.kind === 'video') wantCaptureTime(transceiver);
      }
      const answer = await this.#answer();
      if (this.#closed) return;
      this.captureTimeNegotiated = negotiatedCaptureTime(answer);
      this.#events.onAnswer(this, answer);
      for (const { candidate, mid } of this.#held ?? []) this.#events.onCandidate(this, candidate, mid);
      this.#held = null;
      for (const candidate of this.#pending ?? []) await this.#apply(candidate);
      this.#pending = null;
    } catch (error) {
      if (!this.#closed)
        this.#events.onUnusable(this, error instanceof Error ? error.message : 'negotiation failed');
    }
  }

  addCandidate(candidate: string, mid: string | null): void {
    // Adds the candidate to the first media section, which with bundling applies to all sections.
    const init: RTCIceCandidateInit =
      mid === null ? { candidate, sdpMLineIndex: 0 } : { candidate, sdpMid: mid };
    if (this.#pending !== null) this.#pending.push(init);
    else void this.#apply(init);
  }

  /** Sends this track of the page's microphone; null sends nothing. @returns false if the session has no microphone */
  async setMicrophone(track: MediaStreamTrack | null): Promise<boolean> {
    const transceiver = this.connection.getTransceivers().find((item) => item.mid === MIC_MID);
    if (transceiver === undefined) return false;
    await transceiver.sender.replaceTrack(track);
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const channel of Object.values(this.channels)) channel.close();
    this.connection.close();
  }

  async #answer(): Promise<string> {
    const answer = await this.connection.createAnswer();
    const sdp = answer.sdp ?? '';
    const wanted = wantPassive(wantStereo(sdp));
    try {
      await this.connection.setLocalDescription({ type: 'answer', sdp: wanted });
      return wanted;
    } catch {
      // If the browser refuses the changed answer, it uses its own answer and plays mono.
      await this.connection.setLocalDescription({ type: 'answer', sdp });
      return sdp;
    }
  }

  async #apply(candidate: RTCIceCandidateInit): Promise<void> {
    if (this.#closed) return;
    try {
      // Browsers report the end of candidates in different ways. ICE also completes without this report.
      if (candidate.candidate !== '') await this.connection.addIceCandidate(candidate);
    } catch {
      // An unusable candidate means only that there is one path less.
    }
  }

  #channel(name: ChannelName): RTCDataChannel {
    const { id, label, ordered, maxRetransmits } = CHANNELS[name];
    const init: RTCDataChannelInit = { negotiated: true, id, ordered };
    if (maxRetransmits !== null) init.maxRetransmits = maxRetransmits;
    const channel = this.connection.createDataChannel(label, init);
    channel.binaryType = 'arraybuffer';
    channel.onopen = () => {
      if (!this.#closed) this.#events.onChannelOpen(this, name);
    };
    channel.onmessage = (event: MessageEvent) => {
      if (this.#closed) return;
      if (name === 'control') {
        if (typeof event.data === 'string') this.#events.onControl(this, event.data);
      } else if (event.data instanceof ArrayBuffer) {
        this.#events.onBinary(this, name, new Uint8Array(event.data));
      }
    };
    return channel;
  }

  #listen(): void {
    const { connection } = this;
    connection.ontrack = (event) => {
      if (!this.tracks.includes(event.track)) this.tracks.push(event.track);
    };
    connection.ondatachannel = ({ channel }) => {
      if (this.#closed || channel.label !== FILES_LABEL || this.files !== null) channel.close();
      else {
        this.files = channel;
        this.#events.onFiles(this);
      }
    };
    connection.onconnectionstatechange = () => {
      if (!this.#closed) this.#events.onState(this, connection.connectionState);
    };
    connection.oniceconnectionstatechange = () => {
      if (this.#closed) return;
      const from = this.#iceState;
      this.#iceState = connection.iceConnectionState;
      this.#events.onIceState(this, from, this.#iceState);
    };
    connection.onicecandidate = (event) => {
      if (this.#closed) return;
      const candidate = event.candidate?.candidate ?? '';
      const mid = event.candidate?.sdpMid ?? null;
      if (this.#held !== null) this.#held.push({ candidate, mid });
      else this.#events.onCandidate(this, candidate, mid);
    };
  }
}
