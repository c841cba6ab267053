/**
 * Counterpart of a viewer in one process: a signaling socket that welcomes and offers, a peer connection with
 * channels,
 * and a picture from GStreamer's videotestsrc. Only for tests of viewers; it is no agent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  type AgentControl,
  CHANNELS,
  type ChannelName,
  decodeInput,
  encodeControl,
  encodeInput,
  type InputMessage,
  parseViewerControl,
  type ViewerControl,
} from '@footlight/protocol/input';
import {
  type BrowserMessage,
  type Candidate,
  encodeServiceFrame,
  type Offer,
  parseBrowserFrame,
  type ServiceMessage,
} from '@footlight/protocol/signal';
import nodeDataChannel from 'node-datachannel';
import { type WebSocket, WebSocketServer } from 'ws';

type PeerConnection = InstanceType<typeof nodeDataChannel.PeerConnection>;
type DataChannel = ReturnType<PeerConnection['createDataChannel']>;
type Track = ReturnType<PeerConnection['addTrack']>;

const WIDTH = 320;
const HEIGHT = 180;
const FPS = 30;
const SSRC = 0x1234;
const PAYLOAD_TYPE = 96;
const MIC_PAYLOAD_TYPE = 112;

interface HostPeer {
  pcId: string;
  connection: PeerConnection;
  track: Track;
  /** null = offers no microphone track */
  mic: Track | null;
  channels: Record<ChannelName, DataChannel>;
  state: string;
  /** candidates that arrived before the answer */
  early: Candidate[];
}

export class ScriptedHost {
  readonly heard: BrowserMessage[] = [];
  readonly inputs: InputMessage[] = [];
  readonly controls: ViewerControl[] = [];
  readonly peers: HostPeer[] = [];
  /** packet sizes of the viewer's microphone */
  readonly voice: number[] = [];
  /** later offers contain a microphone track */
  takesMicrophone = false;
  /** accepted sockets so far */
  sockets = 0;
  /** send an offer after a hello without a resumable connection */
  offers = true;
  #server: WebSocketServer;
  #socket: WebSocket | null = null;
  #rtp: Socket;
  #source: ChildProcess;
  #seq = 0;
  #sessionId = randomUUID();

  private constructor(server: WebSocketServer, rtp: Socket, source: ChildProcess) {
    this.#server = server;
    this.#rtp = rtp;
    this.#source = source;
    server.on('connection', (socket) => this.#greet(socket));
    rtp.on('message', (packet) => {
      packet.writeUInt32BE(SSRC, 8);
      for (const { track } of this.peers) sendWhileOpen(track, packet);
    });
  }

  static async start(): Promise<ScriptedHost> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
    await once(server, 'listening');
    const rtp = createSocket('udp4');
    rtp.bind(0, '127.0.0.1');
    await once(rtp, 'listening');
    const pipeline =
      `videotestsrc is-live=true pattern=red ! video/x-raw,width=${WIDTH},height=${HEIGHT},framerate=${FPS}/1 ! ` +
      `openh264enc gop-size=30 ! h264parse config-interval=-1 ! rtph264pay pt=${PAYLOAD_TYPE} mtu=1200 ! ` +
      `udpsink host=127.0.0.1 port=${rtp.address().port} sync=false`;
    const source = spawn('gst-launch-1.0', ['-q', ...pipeline.split(' ')], { stdio: 'ignore' });
    source.on('error', () => undefined);
    return new ScriptedHost(server, rtp, source);
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return `ws://127.0.0.1:${address.port}/v1/signal`;
  }

  get newest(): HostPeer | null {
    return this.peers.at(-1) ?? null;
  }

  say(message: ServiceMessage): void {
    this.#socket?.send(encodeServiceFrame(message));
  }

  /** Closes the signaling socket; media continues. */
  hangUp(code: number): void {
    this.#socket?.close(code);
  }

  offer(reason: Offer['reason'] = 'first'): void {
    const pcId = randomUUID();
    const connection = new nodeDataChannel.PeerConnection(`host-${pcId}`, {
      iceServers: [],
      disableAutoNegotiation: true,
    });
    const video = new nodeDataChannel.Video('video', 'SendOnly');
    video.addH264Codec(
      PAYLOAD_TYPE,
      'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
    );
    video.addSSRC(SSRC, 'host', 'host', 'video');
    const track = connection.addTrack(video);
    const peer: HostPeer = {
      pcId,
      connection,
      track,
      mic: this.takesMicrophone ? this.#addMicrophone(connection) : null,
      state: 'new',
      early: [],
      channels: this.#channels(connection),
    };
    this.peers.push(peer);
    connection.onLocalDescription((sdp) => this.say({ type: 'offer', pc_id: pcId, sdp, reason }));
    connection.onLocalCandidate((candidate, mid) =>
      this.say({ type: 'candidate', pc_id: pcId, candidate, mid }),
    );
    connection.onStateChange((state) => {
      peer.state = state;
    });
    connection.setLocalDescription('offer');
  }

  #addMicrophone(connection: PeerConnection): Track {
    const mic = new nodeDataChannel.Audio('mic', 'RecvOnly');
    mic.addOpusCodec(MIC_PAYLOAD_TYPE);
    const track = connection.addTrack(mic);
    track.onMessage((packet) => {
      if (((packet[1] ?? 0) & 0x7f) === MIC_PAYLOAD_TYPE) this.voice.push(packet.length);
    });
    return track;
  }

  /** Sends on the newest connection's control channel. */
  control(message: AgentControl): void {
    this.newest?.channels.control.sendMessage(encodeControl(message));
  }

  async close(): Promise<void> {
    for (const peer of this.peers) peer.connection.close();
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
    this.#rtp.close();
    if (this.#source.exitCode === null) {
      const ended = once(this.#source, 'exit');
      this.#source.kill('SIGKILL');
      await ended;
    }
  }

  #greet(socket: WebSocket): void {
    this.#socket = socket;
    this.sockets += 1;
    socket.on('message', (data) => {
      const parsed = parseBrowserFrame(String(data));
      if (parsed.kind === 'message') this.#hear(parsed.message);
    });
  }

  #hear(message: BrowserMessage): void {
    this.heard.push(message);
    switch (message.type) {
      case 'hello': {
        this.#ready();
        const kept = this.peers.find(
          (peer) => peer.pcId === message.resume?.pc_id && peer.state === 'connected',
        );
        if (kept !== undefined) this.say({ type: 'resumed', pc_id: kept.pcId });
        else if (this.offers) this.offer();
        return;
      }
      case 'answer': {
        const peer = this.peers.find((item) => item.pcId === message.pc_id);
        peer?.connection.setRemoteDescription(message.sdp, 'answer');
        for (const early of peer?.early.splice(0) ?? []) if (peer !== undefined) addCandidate(peer, early);
        return;
      }
      case 'candidate': {
        const peer = this.peers.find((item) => item.pcId === message.pc_id);
        if (peer === undefined || message.candidate === '') return;
        if (peer.connection.remoteDescription() === null) peer.early.push(message);
        else addCandidate(peer, message);
        return;
      }
      case 'renegotiate':
        this.offer('renegotiate');
        return;
      case 'bye':
        return;
    }
  }

  #ready(): void {
    this.say({
      type: 'ready',
      protocol: 1,
      session: { id: this.#sessionId, state: 'running', state_detail: null },
      stream: {
        codec: 'h264',
        width: WIDTH,
        height: HEIGHT,
        fps: FPS,
        audio: false,
        mic: this.takesMicrophone,
        recording: false,
      },
      ice_servers: [],
      conn: this.sockets,
    });
  }

  #channels(connection: PeerConnection): Record<ChannelName, DataChannel> {
    const make = (name: ChannelName) => {
      const { id, label, ordered, maxRetransmits } = CHANNELS[name];
      const channel = connection.createDataChannel(label, {
        negotiated: true,
        id,
        unordered: !ordered,
        ...(maxRetransmits === null ? {} : { maxRetransmits }),
      });
      channel.onMessage((message) => this.#take(name, channel, message));
      return channel;
    };
    return { input: make('input'), motion: make('motion'), control: make('control') };
  }

  #take(name: ChannelName, channel: DataChannel, message: string | Buffer | ArrayBuffer): void {
    if (name === 'control') {
      const parsed = parseViewerControl(String(message));
      if (parsed.kind === 'message') this.controls.push(parsed.message);
      return;
    }
    if (typeof message === 'string') return;
    const decoded = decodeInput(new Uint8Array(message), name, 'agent');
    if (decoded.kind !== 'message') return;
    this.inputs.push(decoded.message);
    if (decoded.message.kind !== 'ping') return;
    const { client_ms, seq } = decoded.message;
    const now = performance.timeOrigin + performance.now();
    this.#seq += 1;
    const pong = {
      kind: 'pong',
      seq: this.#seq,
      t: 0,
      ping_seq: seq,
      client_ms,
      receive_ms: now,
      send_ms: now,
    } as const;
    sendWhileOpen(channel, encodeInput(pong));
  }
}

/**
 * Ignores a track or channel that closes between the check and the send. An error inside a callback of the library
 * would end the process.
 */
function sendWhileOpen(
  to: { isOpen(): boolean; sendMessageBinary(bytes: Uint8Array): boolean },
  bytes: Uint8Array,
): void {
  if (!to.isOpen()) return;
  try {
    to.sendMessageBinary(bytes);
  } catch {
    // The track or channel has closed meanwhile.
  }
}

function addCandidate(peer: HostPeer, { candidate, mid }: Candidate): void {
  try {
    peer.connection.addRemoteCandidate(candidate, mid ?? 'video');
  } catch {
    // The connection has closed meanwhile.
  }
}
