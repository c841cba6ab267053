import { ALL_PORTS, intersection, NO_PORTS, type PortSet, union, without } from './port-set.ts';

/**
 * Computes which inbound UDP ports a packet filter closes for a viewer that sends the first packet: not on loopback,
 * not of a known connection, to an address of this host. Pure; nftables.ts and iptables.ts produce these rules.
 *
 * A rule that accepts some viewers (one network, one interface, a limited rate) counts as accepting them. A rule that
 * drops only some is ignored.
 */
export interface FilterRule {
  /** UDP destination ports of the rule; empty: no viewer's packet matches. */
  ports: PortSet;
  /** The rule matches every packet to these ports. */
  isCertain: boolean;
  verdict: { kind: 'accept' | 'drop' | 'return' | 'none' } | { kind: 'jump' | 'goto'; target: string };
}

export interface FilterChain {
  rules: FilterRule[];
  /** Policy of a base chain; null: reached only by jumps. */
  policy: 'accept' | 'drop' | null;
}

/** One table: its chains by name. */
export type FilterTable = ReadonlyMap<string, FilterChain>;

/** Bound of nested jumps, which may be cyclic. */
const MAX_DEPTH = 32;

/** @returns the wanted ports that this base chain closes */
export function filteredPorts(table: FilterTable, baseChain: string, wanted: PortSet): PortSet {
  const base = table.get(baseChain);
  if (base === undefined) return NO_PORTS;
  const { filtered, falling } = walk(table, base, wanted, true, 0);
  return base.policy === 'drop' ? union(filtered, falling) : filtered;
}

/** @returns filtered: closed here; falling: undecided at the chain's end */
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
        // Packets that return from the jump continue with the next rule.
        if (rule.verdict.kind === 'jump') left = union(left, inner.falling);
        else if (rule.isCertain) falling = union(falling, inner.falling);
        else left = union(left, inner.falling);
      }
    }
  }
  return { filtered, falling: union(falling, left) };
}

/** A rule under construction: every condition restricts it. */
export class RuleReading {
  ports: PortSet = ALL_PORTS;
  isCertain = true;

  /** The rule cannot match viewers' packets. */
  never(): void {
    this.ports = NO_PORTS;
  }

  /** The rule matches only some of them. */
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
