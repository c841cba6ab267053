import { ALL_PORTS, intersection, NO_PORTS, type PortSet, union, without } from './port-set.ts';

/**
 * Which inbound UDP ports a packet filter keeps from a viewer who sends the first packet: not loopback, not part of a
 * known connection, to an address of this host. Pure; nftables.ts and iptables.ts make these rules of what the tools
 * print.
 *
 * A rule that lets some viewers in (one network, one interface, a limited rate) counts as letting them in: for whom is
 * a person's matter. A rule that keeps only some out counts as nothing.
 */
export interface FilterRule {
  /** UDP destination ports that it is about; none: it concerns no packet of a viewer. */
  ports: PortSet;
  /** It concerns every packet to these ports, not some of them. */
  isCertain: boolean;
  verdict: { kind: 'accept' | 'drop' | 'return' | 'none' } | { kind: 'jump' | 'goto'; target: string };
}

export interface FilterChain {
  rules: FilterRule[];
  /** Of a chain where packets come in; null: only reached from another chain. */
  policy: 'accept' | 'drop' | null;
}

/** One table: its chains by name. */
export type FilterTable = ReadonlyMap<string, FilterChain>;

/** Deeper chains than any tool makes; a ring of jumps must end somewhere. */
const MAX_DEPTH = 32;

/** @returns the wanted ports that nobody outside can reach through this base chain */
export function filteredPorts(table: FilterTable, baseChain: string, wanted: PortSet): PortSet {
  const base = table.get(baseChain);
  if (base === undefined) return NO_PORTS;
  const { filtered, falling } = walk(table, base, wanted, true, 0);
  return base.policy === 'drop' ? union(filtered, falling) : filtered;
}

/** @returns filtered: kept out in here; falling: undecided at the chain's end */
function walk(
  table: FilterTable,
  chain: FilterChain,
  wanted: PortSet,
  isCertain: boolean,
  depth: number,
): { filtered: PortSet; falling: PortSet } {
  let left = wanted;
  let filtered = NO_PORTS;
  let falling = NO_PORTS;
  for (const rule of chain.rules) {
    const ports = intersection(left, rule.ports);
    if (ports.length === 0) continue;
    const certain = isCertain && rule.isCertain;
    switch (rule.verdict.kind) {
      case 'none':
        break;
      case 'accept':
        left = without(left, ports);
        break;
      case 'drop':
        if (!certain) break;
        filtered = union(filtered, ports);
        left = without(left, ports);
        break;
      case 'return':
        if (!rule.isCertain) break;
        falling = union(falling, ports);
        left = without(left, ports);
        break;
      case 'jump':
      case 'goto': {
        const target = table.get(rule.verdict.target);
        if (target === undefined || depth >= MAX_DEPTH) break;
        const inner = walk(table, target, ports, certain, depth + 1);
        filtered = union(filtered, inner.filtered);
        left = without(left, ports);
        // What some packets fall through to, all others meet as well.
        if (rule.verdict.kind === 'jump') left = union(left, inner.falling);
        else if (rule.isCertain) falling = union(falling, inner.falling);
        else left = union(left, inner.falling);
      }
    }
  }
  return { filtered, falling: union(falling, left) };
}

/** A rule that is still being read: every condition narrows it. */
export class RuleReading {
  ports: PortSet = ALL_PORTS;
  isCertain = true;

  /** It concerns other packets than those of viewers. */
  never(): void {
    this.ports = NO_PORTS;
  }

  /** It concerns only some of them. */
  some(): void {
    this.isCertain = false;
  }

  only(ports: PortSet): void {
    this.ports = intersection(this.ports, ports);
  }

  with(verdict: FilterRule['verdict']): FilterRule {
    return { ports: this.ports, isCertain: this.isCertain, verdict };
  }
}
