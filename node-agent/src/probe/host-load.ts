import { readFileSync } from 'node:fs';
import type { Clock } from '@footlight/platform';
import type { Heartbeat } from '@footlight/protocol/agent';

/** Totals since the host's boot. */
interface Totals {
  /** Clock ticks of all cores. */
  cpu: { busy: number; all: number } | null;
  /** Bytes of all physical network interfaces. */
  net: { rx: number; tx: number } | null;
  atMs: number;
}

/** Kilobits in a byte. */
const KBIT = 8 / 1000;
/**
 * Loopback, bridges and the host's ends of virtual links. They are left out, because physical interfaces already count
 * the same bytes.
 */
const INNER = /^(lo|veth|docker|br-|virbr|podman|cni)/;

/** Measures the load of this host's cores and networks since the previous call. */
export class HostLoadProbe {
  readonly #clock: Clock;
  readonly #read: (path: string) => string;
  #before: Totals | null = null;

  /** @param read returns the text of a file, and throws if the file does not exist */
  constructor(clock: Clock, read: (path: string) => string = (path) => readFileSync(path, 'utf8')) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Values that cannot be measured are omitted; so the first call returns no values. */
  look(): Pick<Heartbeat, 'cpu_busy' | 'net'> {
    const now: Totals = {
      cpu: this.#parse('/proc/stat', cpuTotals),
      net: this.#parse('/proc/net/dev', netTotals),
      atMs: this.#clock.monotonicMs(),
    };
    const before = this.#before;
    this.#before = now;
    if (before === null) return {};
    return { ...busyBetween(before.cpu, now.cpu), ...ratesBetween(before, now) };
  }

  #parse<Value>(path: string, parse: (text: string) => Value): Value | null {
    try {
      return parse(this.#read(path));
    } catch {
      return null;
    }
  }
}

function busyBetween(before: Totals['cpu'], now: Totals['cpu']): Pick<Heartbeat, 'cpu_busy'> {
  if (before === null || now === null || now.all <= before.all) return {};
  const share = (now.busy - before.busy) / (now.all - before.all);
  return { cpu_busy: Math.min(1, Math.max(0, Math.round(share * 1000) / 1000)) };
}

function ratesBetween(before: Totals, now: Totals): Pick<Heartbeat, 'net'> {
  const ms = now.atMs - before.atMs;
  // The sums decrease when an interface is removed. A negative difference counts as 0.
  if (before.net === null || now.net === null || ms <= 0) return {};
  const kbps = (was: number, is: number) => Math.round((Math.max(0, is - was) * KBIT * 1000) / ms);
  return { net: { rx_kbps: kbps(before.net.rx, now.net.rx), tx_kbps: kbps(before.net.tx, now.net.tx) } };
}

/**
 * Parses the first line of /proc/stat; null: the line has another format. User time already includes guest time
 * (proc(5)).
 */
export function cpuTotals(stat: string): Totals['cpu'] {
  const [name, ...ticks] = stat.slice(0, stat.indexOf('\n')).trim().split(/\s+/);
  const [user, nice, system, idle, ioWait, irq, softIrq, steal] = ticks.map(Number);
  if (
    name !== 'cpu' ||
    user === undefined ||
    nice === undefined ||
    system === undefined ||
    idle === undefined
  )
    return null;
  const waiting = idle + (ioWait ?? 0);
  const busy = user + nice + system + (irq ?? 0) + (softIrq ?? 0) + (steal ?? 0);
  return Number.isFinite(busy + waiting) ? { busy, all: busy + waiting } : null;
}

/** Sums of /proc/net/dev over the physical interfaces. */
export function netTotals(dev: string): Totals['net'] {
  let rx = 0;
  let tx = 0;
  for (const line of dev.split('\n')) {
    const at = line.indexOf(':');
    if (at < 0 || INNER.test(line.slice(0, at).trim())) continue;
    const fields = line
      .slice(at + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    rx += fields[0] ?? 0;
    tx += fields[8] ?? 0;
  }
  return Number.isFinite(rx + tx) ? { rx, tx } : null;
}
