import { createSocket, type Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { seededRandom } from '@footlight/platform/testing';
import { parseCandidate } from '../webrtc/candidates.ts';
import type { NativeViewer } from './native-viewer.ts';

/** Largest number of recorded datagrams. */
const MAX_RECORDED = 20_000;
const DRAIN_MS = 2;

/** First IPv4 address of this machine that is not loopback, because WebRTC connections do not use loopback. */
export function lanAddress(): string {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!own) throw new Error('this machine has nothing but loopback');
  return own.address;
}

export function hostCandidate(address: string, port: number): string {
  return `candidate:1 1 UDP 2122317823 ${address} ${port} typ host`;
}

/** Binds a UDP socket to an address and records its datagrams. */
export async function listenUdp(address: string): Promise<Socket> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(0, address, resolve);
  });
  return socket;
}

/**
 * Relays datagrams between one viewer and the agent's media; both sides know only the relay's addresses. Records the
 * viewer's datagrams and can replay them. Can delay and drop packets to the viewer. Call wire() before the viewer
 * attaches.
 */
export class UdpRelay {
  /** Datagrams that the viewer sent, oldest first. */
  readonly recorded: Buffer[] = [];
  readonly #address: string;
  readonly #towardsAgent: Socket;
  readonly #towardsViewer: Socket;
  #agentPort = 0;
  #viewerPort = 0;
  #limit: { kbps: number; queueBytes: number } | null = null;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #creditBytes = 0;
  #drainedAtMs = 0;
  #drainTimer: NodeJS.Timeout | null = null;
  readonly #random = seededRandom(1);
  /** Share of the packets to the viewer that are dropped, 0-1. */
  loss = 0;
  /** Whether all packets in both directions are silently dropped. */
  cut = false;

  private constructor(address: string, towardsAgent: Socket, towardsViewer: Socket) {
    this.#address = address;
    this.#towardsAgent = towardsAgent;
    this.#towardsViewer = towardsViewer;
    towardsAgent.on('message', (data) => {
      this.#towards(data);
    });
    towardsViewer.on('message', (data, { port }) => {
      if (this.cut) return;
      this.#viewerPort = port;
      if (this.recorded.length < MAX_RECORDED) this.recorded.push(data);
      this.sendToAgent(data);
    });
  }

  static async open(): Promise<UdpRelay> {
    const address = lanAddress();
    return new UdpRelay(address, await listenUdp(address), await listenUdp(address));
  }

  /** Port of the agent's connection; 0: unknown. */
  get agentPort(): number {
    return this.#agentPort;
  }

  /** Limits the rate of packets to the viewer, with a tail-drop queue. */
  limit(kbps: number, queueBytes: number): void {
    this.#limit = { kbps, queueBytes };
    this.#drainedAtMs = performance.now();
    this.#drainTimer ??= setInterval(() => this.#drain(), DRAIN_MS);
  }

  wire(viewer: NativeViewer): void {
    viewer.editCandidate = (candidate, to) => {
      const parsed = parseCandidate(candidate);
      if (parsed?.address !== this.#address) return null;
      if (to === 'viewer') this.#agentPort = parsed.port;
      else this.#viewerPort = parsed.port;
      const relay = to === 'viewer' ? this.#towardsViewer : this.#towardsAgent;
      return hostCandidate(this.#address, relay.address().port);
    };
  }

  sendToAgent(data: Buffer): void {
    if (this.#agentPort > 0) this.#towardsAgent.send(data, this.#agentPort, this.#address);
  }

  #towards(data: Buffer): void {
    if (this.cut || this.#random.number() < this.loss) return;
    if (this.#limit === null) {
      this.#deliver(data);
      return;
    }
    if (this.#queuedBytes + data.length > this.#limit.queueBytes) return;
    this.#queue.push(data);
    this.#queuedBytes += data.length;
  }

  #drain(): void {
    const nowMs = performance.now();
    const earned = ((nowMs - this.#drainedAtMs) * (this.#limit?.kbps ?? 0)) / 8;
    this.#drainedAtMs = nowMs;
    // An idle link may collect credit for at most one packet.
    this.#creditBytes = Math.min(this.#creditBytes + earned, Math.max(earned, 1500));
    for (let next = this.#queue[0]; next && next.length <= this.#creditBytes; next = this.#queue[0]) {
      this.#queue.shift();
      this.#queuedBytes -= next.length;
      this.#creditBytes -= next.length;
      this.#deliver(next);
    }
  }

  #deliver(data: Buffer): void {
    if (this.#viewerPort > 0) this.#towardsViewer.send(data, this.#viewerPort, this.#address);
  }

  close(): void {
    if (this.#drainTimer) clearInterval(this.#drainTimer);
    this.#towardsAgent.close();
    this.#towardsViewer.close();
  }
}
