import { createSocket, type Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { parseCandidate } from '../candidates.ts';
import type { NativeViewer } from './native-viewer.ts';

/** Datagrams kept (count). */
const MAX_RECORDED = 20_000;

/** This machine's first IPv4 address that is not loopback; connections do not use loopback. */
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

/** A UDP socket on an address, with what arrived. */
export async function listenUdp(address: string): Promise<Socket> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(0, address, resolve);
  });
  return socket;
}

/**
 * Stands between one viewer and the agent's media: both know the relay's addresses only. Keeps what the viewer sends
 * and can say it again. Call wire() before the viewer attaches.
 */
export class UdpRelay {
  /** What the viewer sent, oldest first. */
  readonly recorded: Buffer[] = [];
  readonly #address: string;
  readonly #towardsAgent: Socket;
  readonly #towardsViewer: Socket;
  #agentPort = 0;
  #viewerPort = 0;

  private constructor(address: string, towardsAgent: Socket, towardsViewer: Socket) {
    this.#address = address;
    this.#towardsAgent = towardsAgent;
    this.#towardsViewer = towardsViewer;
    towardsAgent.on('message', (data) => {
      if (this.#viewerPort > 0) towardsViewer.send(data, this.#viewerPort, address);
    });
    towardsViewer.on('message', (data, { port }) => {
      this.#viewerPort = port;
      if (this.recorded.length < MAX_RECORDED) this.recorded.push(data);
      this.sendToAgent(data);
    });
  }

  static async open(): Promise<UdpRelay> {
    const address = lanAddress();
    return new UdpRelay(address, await listenUdp(address), await listenUdp(address));
  }

  /** Port of the agent's connection; 0 before it is known. */
  get agentPort(): number {
    return this.#agentPort;
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

  close(): void {
    this.#towardsAgent.close();
    this.#towardsViewer.close();
  }
}
