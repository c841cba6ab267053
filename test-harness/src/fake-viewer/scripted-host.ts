/**
 * Counterpart of a viewer, in the process of the test: a signaling socket that sends `welcome` and offers, a peer
 * connection with channels, and a picture from GStreamer's videotestsrc. It is not an agent, and only serves tests of
 * viewers.
 *
 * Teardown: `close` ends the connections, the sockets and the process with the picture.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type Clock, systemClock } from '@footlight/platform';
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
  /** this host's candidates until the answer is applied; null afterwards */
  held: { candidate: string; mid: string }[] | null;
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
  /** number of accepted sockets */
  sockets = 0;
  /** send an offer after a hello without a resumable connection */
  offers = true;
  /** null: the host has no WebSocket server; it sends with `say` and receives with `hear` */
  readonly #server: WebSocketServer | null;
  #say: (message: ServiceMessage) => void;
  #socket: WebSocket | null = null;
  #rtp: Socket;
  #source: ChildProcess;
  readonly #clock: Clock;
  #seq = 0;
  #sessionId = randomUUID();

  private constructor(
    server: WebSocketServer | null,
    say: ((message: ServiceMessage) => void) | null,
    { rtp, source }: { rtp: Socket; source: ChildProcess },
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#server = server;
    this.#say = say ?? ((message) => this.#socket?.send(encodeServiceFrame(message)));
    this.#rtp = rtp;
    this.#source = source;
    server?.on('connection', (socket, { url = '' }) => {
      // The player opens a socket without a token to test whether the service can be reached. This socket is closed and
      // does not count as a viewer.
      if (url.includes('token=')) this.#greet(socket);
      else socket.close();
    });
    rtp.on('message', (packet) => {
      packet.writeUInt32BE(SSRC, 8);
      for (const { track } of this.peers) sendWhileOpen(track, packet);
    });
  }

  /** @param clock clock of the host's answers to pings */
  static async start(clock: Clock = systemClock): Promise<ScriptedHost> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
    await once(server, 'listening');
    return new ScriptedHost(server, null, await startPicture(), clock);
  }

  /**
   * A host without its own socket.
   * @param say receives the host's messages; `hear` passes a viewer's messages to the host
   */
  static async speaking(
    say: (message: ServiceMessage) => void,
    clock: Clock = systemClock,
  ): Promise<ScriptedHost> {
    return new ScriptedHost(null, say, await startPicture(), clock);
  }

  get url(): string {
    const address = this.#server?.address() ?? null;
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return `ws://127.0.0.1:${address.port}/v1/signal`;
  }

  get newest(): HostPeer | null {
    return this.peers.at(-1) ?? null;
  }

  say(message: ServiceMessage): void {
    this.#say(message);
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
      held: [],
      channels: this.#channels(connection),
    };
    this.peers.push(peer);
    connection.onLocalDescription((sdp) => this.say({ type: 'offer', pc_id: pcId, sdp, reason }));
    // libdatachannel starts ICE before it stores the answer's fingerprint. On a busy machine a viewer may connect in
    // between, and fails with "unknown CA". Without candidates the viewer cannot connect too early.
    connection.onLocalCandidate((candidate, mid) => {
      if (peer.held === null) this.say({ type: 'candidate', pc_id: pcId, candidate, mid });
      else peer.held.push({ candidate, mid });
    });
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
    for (const socket of this.#server?.clients ?? []) socket.terminate();
    this.#server?.close();
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
      if (parsed.kind === 'message') this.hear(parsed.message);
    });
  }

  /** Handles a message of the viewer. */
  hear(message: BrowserMessage): void {
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
        if (peer === undefined) return;
        peer.connection.setRemoteDescription(message.sdp, 'answer');
        for (const early of peer.early.splice(0)) addCandidate(peer, early);
        for (const held of peer.held ?? []) this.say({ type: 'candidate', pc_id: peer.pcId, ...held });
        peer.held = null;
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
    const now = this.#clock.nowMs();
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

/** Starts a GStreamer process that sends a red picture as RTP packets to a socket of this process. */
async function startPicture(): Promise<{ rtp: Socket; source: ChildProcess }> {
  const rtp = createSocket('udp4');
  rtp.bind(0, '127.0.0.1');
  await once(rtp, 'listening');
  const pipeline =
    `videotestsrc is-live=true pattern=red ! video/x-raw,width=${WIDTH},height=${HEIGHT},framerate=${FPS}/1 ! ` +
    `openh264enc gop-size=30 ! h264parse config-interval=-1 ! rtph264pay pt=${PAYLOAD_TYPE} mtu=1200 ! ` +
    `udpsink host=127.0.0.1 port=${rtp.address().port} sync=false`;
  const source = spawn('gst-launch-1.0', ['-q', ...pipeline.split(' ')], { stdio: 'ignore' });
  source.on('error', () => undefined);
  return { rtp, source };
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
    // The track or channel closed after the check.
  }
}

function addCandidate(peer: HostPeer, { candidate, mid }: Candidate): void {
  try {
    peer.connection.addRemoteCandidate(candidate, mid ?? 'video');
  } catch {
    // The connection has already closed.
  }
}
