import { readFile } from 'node:fs/promises';
import type { Clock, Timer } from '@footlight/platform';

/** Kernel memory of an app's sockets, which no control group counts. */
export interface SocketUse {
  /** Number of open sockets of every kind in the app's network. */
  sockets: number;
  /** Bytes of unread data in netlink sockets. */
  netlinkBytes: number;
}

/**
 * Largest number of sockets of one app with all its processes. Their options use at most 80 MiB (optmem_max, which
 * app-network.ts sets). The number is enough for a browser with some hundred tabs. Chosen, not measured.
 */
export const MAX_SOCKETS = 4_096;
/**
 * Largest number of unread netlink bytes of one app. A library that reads the host's addresses leaves only a few
 * kilobytes unread. Chosen, not measured.
 */
export const MAX_NETLINK_BYTES = 64 * 1024 * 1024;
/**
 * With fewer sockets than this, an app cannot exceed MAX_NETLINK_BYTES by much, because a netlink socket stores at most
 * 416 KiB (twice net.core.rmem_max). So the list of sockets is not read then.
 */
const FEW_SOCKETS = 160;
/** Interval of the checks. In this time, one processor can fill a gibibyte. Chosen, not measured. */
const LOOK_EVERY_MS = 250;

/** The reason to end an app because of its sockets; null: no limit is exceeded. */
export function socketExcess({ sockets, netlinkBytes }: SocketUse): string | null {
  if (sockets > MAX_SOCKETS) return `the app has ${sockets} open sockets, more than ${MAX_SOCKETS}`;
  if (netlinkBytes > MAX_NETLINK_BYTES)
    return `the app leaves ${netlinkBytes >> 20} MiB unread in netlink sockets, more than ${MAX_NETLINK_BYTES >> 20}`;
  return null;
}

/**
 * Reads the socket use in the network of a process.
 * @returns null: the process has ended
 * Source: proc_pid_net(5); "used" counts all sockets of the namespace (Linux 4.20 and newer).
 */
export async function readSocketUse(pid: number): Promise<SocketUse | null> {
  try {
    const stat = await readFile(`/proc/${pid}/net/sockstat`, 'utf8');
    const sockets = Number(/^sockets: used (\d+)/m.exec(stat)?.[1] ?? 0);
    if (sockets < FEW_SOCKETS || sockets > MAX_SOCKETS) return { sockets, netlinkBytes: 0 };
    return { sockets, netlinkBytes: netlinkBytes(await readFile(`/proc/${pid}/net/netlink`, 'utf8')) };
  } catch {
    return null;
  }
}

/** Sum of the column Rmem of /proc/net/netlink. */
export function netlinkBytes(table: string): number {
  return table
    .split('\n')
    .slice(1)
    .reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[4] ?? 0), 0);
}

/**
 * Checks an app's sockets four times a second. Control groups do not limit the data in netlink sockets and the options
 * of sockets, so an app could exhaust the host's memory with them. Owner: the app. The watch ends with close() or when
 * a limit is exceeded.
 */
export class SocketWatch {
  readonly #read: () => Promise<SocketUse | null>;
  readonly #onExcess: (why: string) => void;
  readonly #timer: Timer;
  #isReading = false;

  constructor({
    clock,
    read,
    onExcess,
  }: {
    clock: Clock;
    read: () => Promise<SocketUse | null>;
    /** Called once, when a limit is exceeded. */
    onExcess: (why: string) => void;
  }) {
    this.#read = read;
    this.#onExcess = onExcess;
    this.#timer = clock.setInterval(() => void this.#look(), LOOK_EVERY_MS);
  }

  close(): void {
    this.#timer.cancel();
  }

  async #look(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const use = await this.#read();
    this.#isReading = false;
    const why = use === null ? null : socketExcess(use);
    if (why === null) return;
    this.close();
    this.#onExcess(why);
  }
}
