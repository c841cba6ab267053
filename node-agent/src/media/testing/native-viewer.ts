import { type AgentControl, CHANNELS, type ChannelName, parseAgentControl } from '@footlight/protocol/input';
import * as datachannel from 'node-datachannel';
import { isKeyframe } from '../rtp/keyframe.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import type { ParentMessage, WorkerMessage } from '../worker/worker-messages.ts';
import type { MediaWorker } from '../worker/worker-pool.ts';

type Signal = Extract<WorkerMessage, { type: 'signal' }>['msg'];

/** SSRC of the viewer's microphone. */
export const MIC_SSRC = 0x0badcafe;

/** Adds the stream name to the answer, as browsers do; the library omits it. */
function nameMicStream(answer: string): string {
  return answer.replace(/^a=mid:mic\r\n/m, `a=mid:mic\r\na=ssrc:${MIC_SSRC} cname:voice\r\n`);
}

export interface ReceivedPacket {
  data: Buffer;
  sequence: number;
  timestamp: number;
  marker: boolean;
}

/**
 * A viewer without a browser, for tests of the media worker. It answers the newest offer of one socket and records the
 * newest 4096 decrypted RTP packets.
 */
export class NativeViewer {
  readonly clientId: string;
  readonly signals: Signal[] = [];
  readonly video: ReceivedPacket[] = [];
  readonly audio: ReceivedPacket[] = [];
  readonly control: AgentControl[] = [];
  readonly motion: Buffer[] = [];
  readonly #worker: MediaWorker;
  #conn: number;
  #connection: datachannel.PeerConnection | null = null;
  #pcId = '';
  #tracks: datachannel.Track[] = [];
  readonly #channels = new Map<ChannelName, datachannel.DataChannel>();
  readonly #waiters = new Set<() => void>();
  #state = 'new';
  /** Number of received packets of the picture, and number of complete pictures, since the start. */
  received = 0;
  markers = 0;
  /** Called with each packet of the picture. */
  onVideo: (data: Buffer) => void = () => undefined;
  /** The guest who watches; null: the owner. */
  guest: { id: string; name: string } | null = null;
  /** Edits the answer before it is sent. */
  editAnswer: (sdp: string) => string = (sdp) => sdp;
  /** Edits a candidate in either direction; null: the candidate is dropped. */
  editCandidate: (candidate: string, to: 'agent' | 'viewer') => string | null = (candidate) => candidate;

  constructor(worker: MediaWorker, conn: number, clientId: string) {
    this.#worker = worker;
    this.#conn = conn;
    this.clientId = clientId;
    worker.on('signal', ({ conn: to, msg }) => {
      if (to !== this.#conn) return;
      this.signals.push(msg);
      if (msg.type === 'offer') this.#answer(msg.pc_id, msg.sdp);
      if (msg.type === 'candidate' && msg.pc_id === this.#pcId && msg.candidate !== '') {
        const candidate = this.editCandidate(msg.candidate, 'viewer');
        if (candidate !== null) this.#connection?.addRemoteCandidate(candidate, msg.mid ?? 'video');
      }
      this.#changed();
    });
  }

  get pcId(): string {
    return this.#pcId;
  }

  /** State of the connection. It is "connected" only when the channels are open too. */
  get state(): string {
    const canSend = [...this.#channels.values()].every((channel) => channel.isOpen());
    return this.#state === 'connected' && !canSend ? 'connecting' : this.#state;
  }

  /** @param resume whether to request that the existing connection is resumed */
  attach(conn = this.#conn, resume = false): void {
    this.#conn = conn;
    this.#worker.send({
      type: 'attach',
      conn,
      client_id: this.clientId,
      hello: {
        type: 'hello',
        protocol: 1,
        client_id: this.clientId,
        client: { kind: 'native' },
        codecs: ['h264'],
        ...(resume ? { resume: { pc_id: this.#pcId } } : {}),
      },
      ice_servers: [],
      ...(this.guest && { guest: this.guest }),
    });
  }

  /** Sends a signaling message. */
  signal(msg: Extract<ParentMessage, { type: 'signal' }>['msg']): void {
    this.#worker.send({ type: 'signal', conn: this.#conn, msg });
  }

  send(channel: ChannelName, data: Uint8Array | string): void {
    const channelOrNone = this.#channels.get(channel);
    const open = channelOrNone?.isOpen() ? channelOrNone : undefined;
    if (typeof data === 'string') open?.sendMessage(data);
    else open?.sendMessageBinary(Buffer.from(data));
  }

  /** Opens a channel that was not negotiated. @returns whether the other side has closed it */
  openChannel(label: string): { readonly isClosed: boolean } {
    let isClosed = false;
    const channel = this.#connection?.createDataChannel(label);
    channel?.onClosed(() => {
      isClosed = true;
    });
    return {
      get isClosed() {
        // The channel is stored, because an unreferenced channel is closed.
        return channel !== undefined && isClosed;
      },
    };
  }

  /** Sends RTCP to the sender of the picture. */
  sendRtcp(packet: Buffer): void {
    this.#tracks.find((track) => track.mid() === 'video')?.sendMessageBinary(packet);
  }

  /** Sends an RTP packet of a microphone with MIC_SSRC. @returns false: the session has no microphone */
  sendMic(packet: Buffer): boolean {
    const track = this.#tracks.find((one) => one.mid() === 'mic');
    return track?.isOpen() ? track.sendMessageBinary(packet) : false;
  }

  /** SSRC of the picture; 0 before its first packet. */
  get videoSsrc(): number {
    return this.video[0]?.data.readUInt32BE(8) ?? 0;
  }

  /** Number of keyframes among the recorded packets. */
  get keyframes(): number {
    return this.video.filter(({ data }) => isKeyframe('h264', [data])).length;
  }

  /** Number of gaps in the sequence numbers of the recorded packets. */
  get gaps(): number {
    return this.video.filter(
      ({ sequence }, at) => at > 0 && ((sequence - (this.video[at - 1]?.sequence ?? 0)) & 0xffff) !== 1,
    ).length;
  }

  /** Waits for a picture and the greeting. @throws like until() */
  async untilPlaying(): Promise<void> {
    await this.until('connected with a picture', () => this.state === 'connected' && this.markers > 0);
    await this.until('greeted', () => this.control.some(({ type }) => type === 'hello'));
  }

  /**
   * Waits for a condition, which is checked at every received message.
   * @throws after the limit; the error contains `what`
   */
  until(what: string, holds: () => boolean, limitMs = 20_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds()) return;
        clearTimeout(limit);
        clearInterval(poll);
        this.#waiters.delete(look);
        resolve();
      };
      const poll = setInterval(look, 50);
      const limit = setTimeout(() => {
        clearInterval(poll);
        this.#waiters.delete(look);
        reject(
          new Error(
            `not within ${limitMs} ms: ${what} (${this.#state}, ${this.video.length} packets, ${this.signals.map(({ type }) => type).join()})`,
          ),
        );
      }, limitMs);
      this.#waiters.add(look);
      look();
    });
  }

  close(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  #answer(pcId: string, sdp: string): void {
    this.#pcId = pcId;
    // A replaced connection keeps playing until the agent closes it, so several connections may exist.
    const connection = new datachannel.PeerConnection(`viewer ${pcId}`, {
      iceServers: [],
      disableAutoNegotiation: true,
    });
    this.#connection = connection;
    const tracks: datachannel.Track[] = [];
    this.#tracks = tracks;
    connection.onStateChange((state) => {
      if (this.#connection === connection) this.#state = state;
      this.#changed();
    });
    connection.onLocalDescription((answer) => {
      this.signal({ type: 'answer', pc_id: pcId, sdp: this.editAnswer(nameMicStream(answer)) });
    });
    connection.onLocalCandidate((own, mid) => {
      const candidate = this.editCandidate(own, 'agent');
      if (candidate !== null) this.signal({ type: 'candidate', pc_id: pcId, candidate, mid });
    });
    connection.onTrack((track) => {
      tracks.push(track);
      if (track.mid() === 'mic') return;
      const received = track.mid() === 'audio' ? this.audio : this.video;
      track.onMessage((data) => {
        const header = readRtpHeader(data);
        if (!header || (header.payloadType >= 64 && header.payloadType < 96)) return;
        const { sequence, timestamp, marker } = header;
        if (received === this.video) {
          this.received++;
          if (marker) this.markers++;
          this.onVideo(data);
        }
        received.push({ data, sequence, timestamp, marker });
        if (received.length > 4096) received.shift();
        this.#changed();
      });
    });
    for (const name of Object.keys(CHANNELS) as ChannelName[]) this.#openChannel(connection, name);
    connection.setRemoteDescription(sdp, 'offer');
    connection.setLocalDescription('answer');
  }

  #openChannel(connection: datachannel.PeerConnection, name: ChannelName): void {
    const spec = CHANNELS[name];
    const channel = connection.createDataChannel(spec.label, {
      negotiated: true,
      id: spec.id,
      unordered: !spec.ordered,
      ...(spec.maxRetransmits === null ? {} : { maxRetransmits: spec.maxRetransmits }),
    });
    channel.onOpen(() => this.#changed());
    channel.onMessage((data) => {
      if (typeof data === 'string') {
        const parsed = parseAgentControl(data);
        if (parsed.kind === 'message') this.control.push(parsed.message);
      } else {
        this.motion.push(Buffer.from(data as Buffer));
      }
      this.#changed();
    });
    this.#channels.set(name, channel);
  }

  #changed(): void {
    for (const look of [...this.#waiters]) look();
  }
}
