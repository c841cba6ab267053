/**
 * Viewer without a browser: speaks /v1/signal, answers offers, receives media, sends input, and simulates faults on
 * request. Like a page, it keeps the old connection until the new one is connected, and resumes its connection after
 * its socket was lost. It records all received data.
 *
 * Owns its socket, connections, decoder and one timer.
 *
 * Teardown: `close` frees them all. Time limits of waits use the machine's clock, because socket and media are real.
 */
import { EventEmitter, once } from 'node:events';
import { type Clock, type Random, systemClock, systemRandom, type Timer } from '@footlight/platform';
import {
  type AgentControl,
  type ChannelName,
  CONTROL_FEATURES,
  decodeInput,
  type InputMessage,
  parseAgentControl,
} from '@footlight/protocol/input';
import {
  type BrowserMessage,
  encodeBrowserFrame,
  type Hello,
  type IceServer,
  type Offer,
  parseServiceFrame,
  RENEGOTIATE_INTERVAL_MS,
  type Ready,
  type ServiceMessage,
} from '@footlight/protocol/signal';
import { WebSocket } from 'ws';
import { ExpiredWait, PATIENCE_MS } from '../stack/program.ts';
import { offeredVideo, ViewerConnection } from './connection.ts';
import type { Picture } from './decoder.ts';
import { VideoSink } from './video-sink.ts';
import { ViewerInput } from './viewer-input.ts';

export interface ViewerAccess {
  url: string;
  /** "" when the URL contains the token */
  token: string;
  ice_servers?: readonly { urls: readonly string[] }[];
}

export interface FakeViewerOptions {
  clientId?: string;
  codecs?: Hello['codecs'];
  /** decode pictures, so that a test can read pixels; needs GStreamer's openh264dec or libde265dec */
  decode?: boolean;
  headers?: Record<string, string>;
  /** reaction to an offer; a function edits the answer's SDP */
  answer?: 'normal' | 'none' | ((sdp: string) => string);
  /** sends no hello; the test sends every message with sendRaw */
  silent?: boolean;
  /** false: does not request a new connection after a failure */
  renegotiates?: boolean;
  /** number of invented candidates, sent in addition to the real ones */
  candidateFlood?: number;
  /** false: accept self-signed certificates, as tests on one machine need */
  rejectUnauthorized?: boolean;
  /** Clock for the stamps of input, and for the wait before a new connection. Default: the machine's clock. */
  clock?: Clock;
  /** Source of ids and random bytes. Default: the machine's generator. */
  random?: Random;
}

/** Number of messages kept for tests. */
const MAX_KEPT = 10_000;

export class FakeViewer extends EventEmitter<{
  message: [ServiceMessage];
  input: [InputMessage];
  control: [AgentControl];
  connected: [string];
  state: [string, string];
  closed: [number, string];
  /** each text frame of the signaling socket */
  frame: ['sent' | 'received', string];
}> {
  readonly clientId: string;
  readonly messages: ServiceMessage[] = [];
  readonly controls: AgentControl[] = [];
  readonly inputs: InputMessage[] = [];
  readonly video: VideoSink;
  readonly input: ViewerInput;
  readonly audio = { packets: 0, bytes: 0 };
  /** newest answer */
  answerSdp: string | null = null;
  ready: Ready | null = null;
  closeCode: number | null = null;
  /** May be replaced while the viewer runs; clock, random and clientId stay. */
  options: FakeViewerOptions;
  readonly #clock: Clock;
  #renegotiation: Timer | null = null;
  #socket: WebSocket | null = null;
  #iceServers: IceServer[] = [];
  #current: ViewerConnection | null = null;
  #next: ViewerConnection | null = null;
  #renegotiatedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FakeViewerOptions = {}) {
    super();
    this.options = options;
    const { clock = systemClock, random = systemRandom } = options;
    this.#clock = clock;
    this.clientId = options.clientId ?? random.uuid();
    this.video = new VideoSink(clock, () => this.#current?.requestKeyframe());
    this.input = new ViewerInput({ send: (channel, data) => this.sendRaw(channel, data), clock, random });
  }

  get isConnected(): boolean {
    return this.#current?.state === 'connected';
  }

  get pcId(): string | null {
    return this.#current?.pcId ?? null;
  }

  /** Opens the socket and sends hello. Rejects with the HTTP status when the upgrade is refused. */
  async connect(access: ViewerAccess): Promise<void> {
    const url = new URL(access.url);
    if (access.token !== '') url.searchParams.set('token', access.token);
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      headers: this.options.headers ?? {},
      rejectUnauthorized: this.options.rejectUnauthorized ?? false,
    });
    this.#socket = socket;
    this.closeCode = null;
    socket.on('message', (data) => this.#receive(String(data)));
    socket.on('close', (code, reason) => {
      if (this.#socket !== socket) return;
      this.closeCode = code;
      this.emit('closed', code, String(reason));
    });
    socket.on('error', () => undefined);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('unexpected-response', (request, response) => {
        request.destroy();
        reject(new Error(`refused with ${response.statusCode}`));
      });
      socket.once('error', reject);
    });
    if (!this.options.silent) this.send(this.hello());
  }

  /** The hello message. It contains `resume` while a connection still receives media. */
  hello(): Hello {
    const hello: Hello = {
      type: 'hello',
      protocol: 1,
      client_id: this.clientId,
      client: { kind: 'native', name: 'fake-viewer' },
      codecs: this.options.codecs ?? ['h264'],
    };
    return this.isConnected && this.#current !== null
      ? { ...hello, resume: { pc_id: this.#current.pcId } }
      : hello;
  }

  send(message: BrowserMessage): void {
    this.sendFrame(encodeBrowserFrame(message));
  }

  /** Sends any bytes on the signaling socket. */
  sendFrame(frame: string | Buffer): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(frame);
    if (typeof frame === 'string') this.emit('frame', 'sent', frame);
  }

  /** Sends any bytes on a data channel. @returns false when the channel is not open */
  sendRaw(channel: ChannelName, data: Uint8Array | string): boolean {
    const wire = this.#current?.channels[channel];
    if (wire?.isOpen() !== true) return false;
    return typeof data === 'string' ? wire.sendMessage(data) : wire.sendMessageBinary(data);
  }

  requestKeyframe(): void {
    this.#current?.requestKeyframe();
  }

  /** Resolves when media is connected. */
  async connected(timeoutMs = PATIENCE_MS): Promise<void> {
    if (!this.isConnected) await once(this, 'connected', { signal: AbortSignal.timeout(timeoutMs) });
  }

  /** First message of a type, past or future. */
  async message<T extends ServiceMessage['type']>(
    type: T,
    timeoutMs = PATIENCE_MS,
  ): Promise<Extract<ServiceMessage, { type: T }>> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (let seen = 0; ; ) {
      for (; seen < this.messages.length; seen += 1) {
        const message = this.messages[seen];
        if (message?.type === type) return message as Extract<ServiceMessage, { type: T }>;
      }
      await once(this, 'message', { signal });
    }
  }

  /** Close code of the socket; waits for the close. */
  async closed(timeoutMs = PATIENCE_MS): Promise<number> {
    if (this.closeCode === null) await once(this, 'closed', { signal: AbortSignal.timeout(timeoutMs) });
    return this.closeCode ?? 1006;
  }

  /** Waits for this many complete frames from now on. */
  frames(count: number, timeoutMs = PATIENCE_MS): Promise<void> {
    const { counters } = this.video;
    const until = counters.frames + count;
    const missing = () => `${until - counters.frames} frames missing`;
    return within(timeoutMs, missing, this.video.reached(until));
  }

  /** Next decoded picture that `wants` accepts. Needs the option `decode`. */
  async picture(wants?: (picture: Picture) => boolean, timeoutMs = PATIENCE_MS): Promise<Picture> {
    if (!this.options.decode) throw new Error('this viewer does not decode');
    return within(timeoutMs, () => `no such picture: ${this.#received()}`, this.video.nextPicture(wants));
  }

  /** Breaks the signaling socket without a close frame; media continues. */
  dropSocket(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.terminate();
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null && socket.readyState !== WebSocket.CLOSED) socket.terminate();
    this.#renegotiation?.cancel();
    this.#next?.close();
    this.#current?.close();
    this.#next = null;
    this.#current = null;
    await this.video.close();
  }

  /** Text for a failed wait, which shows where pictures stopped. */
  #received(): string {
    const { counters } = this.video;
    const video = `${counters.frames} frames, ${counters.keyframes} keyframes, ${counters.lost} packets lost, ${counters.damaged} damaged`;
    const connection = `connection ${this.#current?.state ?? 'none'}, socket ${this.closeCode ?? 'open'}`;
    const last = this.messages.at(-1)?.type ?? 'none';
    return `${video}; ${this.video.decoded()}; last second ${this.video.perSecond.slice(-5).join()}; ${connection}, last message ${last}`;
  }

  #receive(frame: string): void {
    this.emit('frame', 'received', frame);
    const parsed = parseServiceFrame(frame);
    if (parsed.kind !== 'message') return;
    const { message } = parsed;
    keep(this.messages, message);
    if (message.type === 'ready') {
      this.ready = message;
      this.#iceServers = message.ice_servers;
    } else if (message.type === 'offer') {
      this.#answer(message);
    } else if (message.type === 'candidate') {
      for (const connection of [this.#next, this.#current]) {
        if (connection?.pcId === message.pc_id) connection.addCandidate(message.candidate, message.mid);
      }
    }
    this.emit('message', message);
  }

  #answer(offer: Offer): void {
    const { answer = 'normal', candidateFlood = 0 } = this.options;
    if (answer === 'none') return;
    this.#next?.close();
    const { pc_id } = offer;
    this.#next = new ViewerConnection(
      offer,
      this.#iceServers,
      {
        onAnswer: (sdp) => {
          this.answerSdp = sdp;
          this.send({ type: 'answer', pc_id, sdp });
          for (let port = 0; port < candidateFlood; port += 1) {
            const candidate = `candidate:9 1 UDP 1 192.0.2.1 ${20_000 + port} typ host`;
            this.send({ type: 'candidate', pc_id, candidate, mid: 'video' });
          }
        },
        onCandidate: (candidate, mid) => this.send({ type: 'candidate', pc_id, candidate, mid }),
        onState: (state) => this.#onState(pc_id, state, offer.sdp),
        onOpen: (channel) => {
          if (channel === 'control') this.#greet(pc_id);
        },
        onRtp: (kind, packet) => this.#onRtp(pc_id, kind, packet),
        onMessage: (channel, message) => this.#onMessage(pc_id, channel, message),
      },
      answer === 'normal' ? (sdp) => sdp : answer,
    );
  }

  #onState(pcId: string, state: string, offerSdp: string): void {
    if (state === 'connected' && this.#next?.pcId === pcId) {
      this.#current?.close();
      this.#current = this.#next;
      this.#next = null;
      this.input.restart();
      this.video.restart(offeredVideo(offerSdp));
      const { stream } = this.ready ?? {};
      if (this.options.decode && stream !== undefined) this.video.decode(stream.width, stream.height);
      this.emit('connected', pcId);
    }
    if (state === 'failed') this.#renegotiate(pcId);
    this.emit('state', pcId, state);
  }

  /** Requests a replacement for a failed connection, as a page does: at most once in three seconds. */
  #renegotiate(pcId: string): void {
    if (this.options.renegotiates === false) return;
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.max(0, this.#renegotiatedAtMs + RENEGOTIATE_INTERVAL_MS - nowMs);
    this.#renegotiatedAtMs = nowMs + waitMs;
    this.#renegotiation?.cancel();
    this.#renegotiation = this.#clock.setTimeout(
      () => this.send({ type: 'renegotiate', pc_id: pcId, reason: 'ice_failed' }),
      waitMs,
    );
  }

  #greet(pcId: string): void {
    const connection = [this.#current, this.#next].find((item) => item?.pcId === pcId);
    const hello = {
      type: 'hello',
      protocol: 1,
      features: [...CONTROL_FEATURES],
      viewport: { width: 1280, height: 720, dpr: 1 },
    };
    connection?.channels.control.sendMessage(JSON.stringify(hello));
  }

  #onRtp(pcId: string, kind: 'video' | 'audio', packet: Buffer): void {
    if (this.#current?.pcId !== pcId) return;
    if (kind === 'video') {
      this.video.push(packet);
      return;
    }
    this.audio.packets += 1;
    this.audio.bytes += packet.length;
  }

  #onMessage(pcId: string, channel: ChannelName, message: string | Buffer): void {
    if (this.#current?.pcId !== pcId && this.#next?.pcId !== pcId) return;
    if (channel === 'control') {
      const parsed = parseAgentControl(String(message));
      if (parsed.kind !== 'message') return;
      keep(this.controls, parsed.message);
      this.emit('control', parsed.message);
    } else if (typeof message !== 'string') {
      const decoded = decodeInput(message, channel, 'viewer');
      if (decoded.kind !== 'message') return;
      keep(this.inputs, decoded.message);
      this.emit('input', decoded.message);
    }
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > MAX_KEPT) list.shift();
}

/** @throws ExpiredWait with `what` after `limitMs` */
async function within<T>(limitMs: number, what: () => string, wanted: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = systemClock.setTimeout(() => reject(new ExpiredWait(`${what()}, within ${limitMs} ms`)), limitMs);
  });
  return Promise.race([wanted, late]).finally(() => timer?.cancel());
}
