import { readFile } from 'node:fs/promises';

/**
 * Number of the host's ports for one app. A browser that loads two pages looks up about 400 names in half a minute,
 * each from another port.
 */
export const BLOCK_PORTS = 512;
/** Lower ports belong to well-known services. */
const FIRST_PORT = 10_240;
const LAST_PORT = 65_535;
/** Default of Linux; also used if the host's range cannot be read. */
const EPHEMERAL_PORTS: PortRange = [32_768, 60_999];

/** First and last port. */
export type PortRange = readonly [low: number, high: number];

/** Current use of UDP ports on the host. */
export interface HostUdpPorts {
  /** The kernel's range of ephemeral ports. */
  ephemeral: PortRange;
  /** Ports to which a socket is bound. */
  bound: ReadonlySet<number>;
}

/**
 * UDP ports of the host from which the datagrams of apps leave.
 *
 * `pasta` sends a datagram from the host's port with the same number as the app's port. Therefore each app gets a block
 * of ports, and its namespace translates source ports into this block. Otherwise an app could occupy the ports of other
 * apps, viewers and services, and receive their datagrams.
 */
export class UdpPorts {
  readonly #avoided: readonly PortRange[];
  readonly #read: () => Promise<HostUdpPorts>;
  readonly #taken = new Set<number>();

  /** @param avoided ports of the media workers; null: any ports */
  constructor(avoided: PortRange | null, read: () => Promise<HostUdpPorts> = readHostUdpPorts) {
    this.#avoided = avoided === null ? [] : [avoided];
    this.#read = read;
  }

  /** @throws when no block is free */
  async take(): Promise<{ range: PortRange; release: () => void }> {
    const host = await this.#read();
    const low = freeBlock(host, [...this.#avoided, ...[...this.#taken].map(blockAt)]);
    if (low === null) throw new Error(`no block of ${BLOCK_PORTS} UDP ports is free`);
    this.#taken.add(low);
    return { range: blockAt(low), release: () => void this.#taken.delete(low) };
  }
}

function blockAt(low: number): PortRange {
  return [low, low + BLOCK_PORTS - 1];
}

/**
 * First port of the block with the fewest sockets, outside the avoided ranges; null: no block is free. Among blocks
 * with equally many sockets, a block outside the ephemeral range is preferred, and then the highest one.
 *
 * A block with some occupied ports is still usable. Only datagrams from the occupied ports are lost, because `pasta`
 * cannot bind these. If such a block were not used, any user of the machine could make every block unusable with one
 * socket per block.
 */
export function freeBlock({ ephemeral, bound }: HostUdpPorts, avoided: readonly PortRange[]): number | null {
  const sockets = new Map<number, number>();
  for (const port of bound) {
    const low = port - (port % BLOCK_PORTS);
    sockets.set(low, (sockets.get(low) ?? 0) + 1);
  }
  let best: { low: number; cost: number } | null = null;
  for (let low = LAST_PORT + 1 - BLOCK_PORTS; low >= FIRST_PORT; low -= BLOCK_PORTS) {
    const count = sockets.get(low) ?? 0;
    if (count === BLOCK_PORTS || avoided.some((range) => overlap(blockAt(low), range))) continue;
    const cost = 2 * count + (overlap(blockAt(low), ephemeral) ? 1 : 0);
    if (best === null || cost < best.cost) best = { low, cost };
  }
  return best?.low ?? null;
}

function overlap([low, high]: PortRange, [otherLow, otherHigh]: PortRange): boolean {
  return low <= otherHigh && otherLow <= high;
}

async function readHostUdpPorts(): Promise<HostUdpPorts> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => '');
  const [tables, range] = await Promise.all([
    Promise.all(['/proc/net/udp', '/proc/net/udp6'].map(read)),
    read('/proc/sys/net/ipv4/ip_local_port_range'),
  ]);
  const [low, high] = range.trim().split(/\s+/).map(Number);
  return {
    ephemeral: low && high ? [low, high] : EPHEMERAL_PORTS,
    bound: new Set(tables.flatMap(boundPorts)),
  };
}

/**
 * Local ports in a table of /proc/net. A row has the form `sl  local_address rem_address …`, with hexadecimal numbers.
 */
export function boundPorts(table: string): number[] {
  return [...table.matchAll(/^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) /gm)].map((row) =>
    Number.parseInt(row[1] ?? '', 16),
  );
}
