import { ALL_PORTS, intersection, NO_PORTS, type PortSet, union, without } from './port-set.ts';

/**
 * Computes which inbound ports of one transport a packet filter closes for a viewer's first packet. This packet does
 * not arrive on loopback, does not belong to a known connection, and is sent to an address of this host. Pure;
 * nftables.ts and iptables.ts produce these rules.
 *
 * A rule that accepts only some viewers (one network, one interface, a limited rate) counts as accepting all. A rule
 * that drops only some viewers is ignored.
 */
export interface FilterRule {
  /** Destination ports of the rule; empty: the rule matches no packet of a viewer. */
  ports: PortSet;
  /** Whether the rule matches every packet to these ports. */
  isCertain: boolean;
  verdict: { kind: 'accept' | 'drop' | 'return' | 'none' } | { kind: 'jump' | 'goto'; target: string };
}

/** Transport protocol of the packets, as packet filters write it. */
export type Transport = 'udp' | 'tcp';

/** Protocol numbers, which packet filters may write instead of the names. */
export const PROTOCOL_NUMBER: Readonly<Record<Transport, string>> = { udp: '17', tcp: '6' };

export interface FilterChain {
  rules: FilterRule[];
  /** Policy of a base chain; null: the chain is reached only by jumps. */
  policy: 'accept' | 'drop' | null;
}

/** Chains of one table, by name. */
export type FilterTable = ReadonlyMap<string, FilterChain>;

/** Largest depth of nested jumps. Without it, cyclic jumps would never end. */
const MAX_DEPTH = 32;

/** @returns the wanted ports that this base chain closes */
export function filteredPorts(table: FilterTable, baseChain: string, wanted: PortSet): PortSet {
  const base = table.get(baseChain);
  if (base === undefined) return NO_PORTS;
  const { filtered, falling } = walk(table, base, wanted, true, 0);
  return base.policy === 'drop' ? union(filtered, falling) : filtered;
}

/** @returns filtered: ports that are closed here; falling: ports that are still undecided at the chain's end */
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
        // Packets that return from a jump continue with the next rule.
        if (rule.verdict.kind === 'jump') left = union(left, inner.falling);
        else if (rule.isCertain) falling = union(falling, inner.falling);
        else left = union(left, inner.falling);
      }
    }
  }
  return { filtered, falling: union(falling, left) };
}

/** A rule that is being read. Every condition restricts it further. */
export class RuleReading {
  ports: PortSet = ALL_PORTS;
  isCertain = true;

  /** Records that the rule cannot match viewers' packets. */
  never(): void {
    this.ports = NO_PORTS;
  }

  /** Records that the rule matches only some of the viewers' packets. */
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
