import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@footlight/platform';

/**
 * A network between the media worker and the browser. A bench sets the speed and the losses of this network. There are
 * two kinds: a network namespace for the browser, connected by a veth pair with tbf on the worker's side; and a relay
 * in this process, used where namespaces cannot be created or packets must be lost.
 */
export interface SlowPath {
  readonly kind: 'namespace' | 'relay';
  /** Address that the worker offers. */
  readonly address: string;
  /** Program to start as the browser; null = the default one. */
  readonly browserProgram: string | null;
  /** A candidate as the other side receives it; null withholds it. */
  candidate(line: string, to: 'viewer' | 'worker'): string | null;
  /** @param kbps null = unlimited */
  setRate(kbps: number | null): void;
  close(): void;
}

/** A path through a network namespace, which can be interrupted. */
export interface NamespacePath extends SlowPath {
  readonly browserProgram: string;
  /** Name of the browser's namespace. */
  readonly namespace: string;
  /** Network interface of this machine to which the browser is connected. */
  readonly device: string;
  /** Drops every packet in both directions from now on. The ends get no error, as when a cable is unplugged. */
  cut(): void;
  /** Limits the direction from the browser. */
  setUpRate(kbps: number): void;
  /** Lets packets pass again, after `cut`. */
  mend(): void;
}

/** A path through a relay, whose losses and delay can change. */
export interface RelayPath extends SlowPath {
  /** Starts to drop and delay packets. */
  spoil(faults: PathFaults): void;
}

export interface PathFaults {
  /** share (0–1) of the packets towards the viewer, at random; packets of the connection setup are not dropped */
  loss: number;
  /** added in each direction, milliseconds */
  delayMs: number;
}

const BURST_BYTES = 8 * 1024;
const LIMIT_BYTES = 60 * 1024;
/** A locally administered hardware address. Source: RFC 9542, 2.1. */
const NOBODY = '02:00:00:00:00:fe';

/** @returns null if this machine does not allow network namespaces */
export function openNamespacePath(): NamespacePath | null {
  const name = `fl-bench-${process.pid}`;
  const [near, far] = [`flb${process.pid}a`, `flb${process.pid}b`];
  const [address, viewer] = ['10.231.77.1', '10.231.77.2'];
  const inside = `ip -n ${name}`;
  const run = (command: string) =>
    execFileSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] });
  const remove = () => {
    try {
      run(`ip netns del ${name}`);
    } catch {
      // The namespace or the pair was never created.
    }
  };
  try {
    run(`ip netns add ${name}`);
    run(`ip link add ${near} type veth peer name ${far} netns ${name}`);
    run(`ip addr add ${address}/30 dev ${near} && ip link set ${near} up`);
    run(
      `${inside} addr add ${viewer}/30 dev ${far} && ${inside} link set ${far} up && ${inside} link set lo up`,
    );
    // A browser only offers the local address of its default route.
    run(`${inside} route add default via ${address}`);
  } catch {
    remove();
    return null;
  }
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-path-'));
  const browserProgram = path.join(directory, 'browser');
  writeFileSync(browserProgram, `#!/bin/sh\nexec ip netns exec ${name} /usr/bin/chromium "$@"\n`);
  chmodSync(browserProgram, 0o755);
  return {
    kind: 'namespace',
    address,
    browserProgram,
    namespace: name,
    device: near,
    candidate: (line) => line,
    setRate(kbps) {
      run(
        kbps === null
          ? `tc qdisc del dev ${near} root 2>/dev/null || true`
          : `tc qdisc replace dev ${near} root tbf rate ${kbps}kbit burst 8kb limit 60kb`,
      );
    },
    cut() {
      // Frames to an unused address are dropped silently, as in a hanging relay. If the link were set to "down", the
      // browser would notice the change.
      run(`ip neigh replace ${viewer} lladdr ${NOBODY} dev ${near} nud permanent`);
      run(`${inside} neigh replace ${address} lladdr ${NOBODY} dev ${far} nud permanent`);
    },
    setUpRate(kbps) {
      run(`tc -n ${name} qdisc replace dev ${far} root tbf rate ${kbps}kbit burst 8kb limit 60kb`);
    },
    mend() {
      run(`ip neigh del ${viewer} dev ${near}`);
      run(`${inside} neigh del ${address} dev ${far}`);
    },
    close() {
      // The pair is removed together with the namespace that contains one of its ends.
      remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function openRelayPath(loss = 0): Promise<RelayPath> {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!own) throw new Error('This machine has nothing but loopback, which browsers do not use');
  const { address } = own;
  const towardsWorker = await bound(address);
  const towardsViewer = await bound(address);
  let workerPort = 0;
  let viewerPort = 0;
  let kbps: number | null = null;
  let faults: PathFaults = { loss, delayMs: 0 };
  let isClosed = false;
  const later = (deliver: () => void) => {
    if (faults.delayMs === 0) deliver();
    else systemClock.setTimeout(() => isClosed || deliver(), faults.delayMs);
  };
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let tokens = BURST_BYTES;
  let refilledAt = performance.now();
  const drain = () => {
    const now = performance.now();
    tokens =
      kbps === null
        ? Number.POSITIVE_INFINITY
        : Math.min(BURST_BYTES, tokens + ((now - refilledAt) * kbps) / 8);
    refilledAt = now;
    for (;;) {
      const next = queue[0];
      if (!next || next.length > tokens) return;
      queue.shift();
      tokens -= next.length;
      queuedBytes -= next.length;
      later(() => {
        if (viewerPort > 0) towardsViewer.send(next, viewerPort, address);
      });
    }
  };
  const timer = setInterval(drain, 1);
  towardsWorker.on('message', (data) => {
    // The first byte distinguishes media from DTLS and STUN (RFC 7983).
    const isMedia = (data[0] ?? 0) >= 128 && (data[0] ?? 0) < 192;
    if (isMedia && Math.random() < faults.loss) return;
    if (queuedBytes + data.length > LIMIT_BYTES) return;
    queue.push(data);
    queuedBytes += data.length;
    drain();
  });
  towardsViewer.on('message', (data, { port }) => {
    viewerPort = port;
    later(() => {
      if (workerPort > 0) towardsWorker.send(data, workerPort, address);
    });
  });
  return {
    kind: 'relay',
    address,
    browserProgram: null,
    candidate(line, to) {
      const words = line.split(' ');
      if (words[4] !== address) return null;
      if (to === 'viewer') workerPort = Number(words[5]);
      words[5] = String((to === 'viewer' ? towardsViewer : towardsWorker).address().port);
      return words.join(' ');
    },
    setRate(next) {
      drain();
      kbps = next;
      tokens = Math.min(tokens, BURST_BYTES);
    },
    spoil(next) {
      faults = next;
    },
    close() {
      isClosed = true;
      clearInterval(timer);
      towardsWorker.close();
      towardsViewer.close();
    },
  };
}

async function bound(address: string): Promise<Socket> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(0, address, resolve);
  });
  return socket;
}
