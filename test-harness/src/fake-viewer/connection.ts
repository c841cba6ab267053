/** WebRTC connection of the fake viewer: answers an offer, passes on packets and messages. */
import { CHANNELS, type ChannelName } from '@footlight/protocol/input';
import type { IceServer, Offer } from '@footlight/protocol/signal';
import nodeDataChannel from 'node-datachannel';
import type { NalCodec } from './nal-units.ts';

type PeerConnection = InstanceType<typeof nodeDataChannel.PeerConnection>;
type DataChannel = ReturnType<PeerConnection['createDataChannel']>;
type Track = Parameters<Parameters<PeerConnection['onTrack']>[0]>[0];

export interface ConnectionEvents {
  onAnswer(sdp: string): void;
  onCandidate(candidate: string, mid: string): void;
  /**
   * The state "connected" means that media and all channels are open. Channels open one by one after the connection. A
   * message that is sent before its channel is open would be lost.
   */
  onState(state: string): void;
  onOpen(channel: ChannelName): void;
  onRtp(kind: 'video' | 'audio', packet: Buffer): void;
  onMessage(channel: ChannelName, message: string | Buffer): void;
}

/**
 * Codec and payload type of an offered video that this viewer can reassemble; null: the offer contains no such video.
 */
export function offeredVideo(sdp: string): { codec: NalCodec; payloadType: number } | null {
  const match = /^a=rtpmap:(\d+) (H264|H265)\/90000/im.exec(sdp);
  if (!match) return null;
  return { codec: match[2]?.toUpperCase() === 'H265' ? 'h265' : 'h264', payloadType: Number(match[1]) };
}

export class ViewerConnection {
  readonly pcId: string;
  readonly channels: Record<ChannelName, DataChannel>;
  state = 'new';
  #connection: PeerConnection;
  #transport = 'new';
  /** Keeps references, because a garbage-collected track closes. */
  #tracks: Track[] = [];
  #closed = false;

  constructor(
    offer: Offer,
    iceServers: IceServer[],
    events: ConnectionEvents,
    answer: (sdp: string) => string,
  ) {
    this.pcId = offer.pc_id;
    this.#connection = new nodeDataChannel.PeerConnection(`viewer-${offer.pc_id}`, {
      iceServers: iceServers.flatMap((server) => server.urls),
      // Channels exist before the offer is applied and must not create an offer.
      disableAutoNegotiation: true,
    });
    this.channels = {
      input: this.#channel('input', events),
      motion: this.#channel('motion', events),
      control: this.#channel('control', events),
    };
    const connection = this.#connection;
    // The other end accepts candidates only after the answer, but the library may find candidates earlier. They are
    // stored until the answer is sent.
    let held: [string, string][] | null = [];
    connection.onLocalDescription((sdp) => {
      events.onAnswer(answer(sdp));
      for (const [candidate, mid] of held ?? []) events.onCandidate(candidate, mid);
      held = null;
    });
    connection.onLocalCandidate((line, mid) => {
      const candidate = line.replace(/^a=/, '');
      if (held === null) events.onCandidate(candidate, mid);
      else held.push([candidate, mid]);
    });
    connection.onStateChange((state) => {
      this.#transport = state;
      this.#tellState(events);
    });
    connection.onTrack((track) => {
      this.#tracks.push(track);
      track.setMediaHandler(new nodeDataChannel.RtcpReceivingSession());
      const kind = track.type() === 'video' ? 'video' : 'audio';
      track.onMessage((packet) => events.onRtp(kind, packet));
    });
    connection.setRemoteDescription(offer.sdp, 'offer');
    connection.setLocalDescription('answer');
  }

  addCandidate(candidate: string, mid: string | null): void {
    if (!this.#closed && candidate !== '') this.#connection.addRemoteCandidate(candidate, mid ?? 'video');
  }

  requestKeyframe(): void {
    for (const track of this.#tracks) if (track.type() === 'video' && track.isOpen()) track.requestKeyframe();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close();
  }

  #tellState(events: ConnectionEvents): void {
    const canSend = Object.values(this.channels).every((channel) => channel.isOpen());
    const state = this.#transport === 'connected' && !canSend ? 'connecting' : this.#transport;
    if (state === this.state) return;
    this.state = state;
    if (!this.#closed) events.onState(state);
  }

  #channel(name: ChannelName, events: ConnectionEvents): DataChannel {
    const { id, label, ordered, maxRetransmits } = CHANNELS[name];
    const channel = this.#connection.createDataChannel(label, {
      negotiated: true,
      id,
      unordered: !ordered,
      ...(maxRetransmits === null ? {} : { maxRetransmits }),
    });
    channel.onOpen(() => {
      if (this.#closed) return;
      events.onOpen(name);
      this.#tellState(events);
    });
    channel.onMessage((message) => {
      if (this.#closed) return;
      events.onMessage(name, message instanceof ArrayBuffer ? Buffer.from(message) : message);
    });
    return channel;
  }
}
