import { z } from 'zod';
import {
  type FilterChain,
  type FilterRule,
  type FilterTable,
  PROTOCOL_NUMBER,
  RuleReading,
  type Transport,
} from './packet-filter.ts';
import { complement, type PortSet, portSet } from './port-set.ts';

const chainSchema = z.object({
  family: z.string(),
  table: z.string(),
  name: z.string(),
  hook: z.string().optional(),
  type: z.string().optional(),
  policy: z.string().optional(),
});
const ruleSchema = z.object({
  family: z.string(),
  table: z.string(),
  chain: z.string(),
  expr: z.array(z.record(z.string(), z.unknown())),
});
const setSchema = z.object({
  family: z.string(),
  table: z.string(),
  name: z.string(),
  elem: z.array(z.unknown()).optional(),
});
const rulesetSchema = z.object({
  nftables: z.array(
    z.object({ chain: z.unknown().optional(), rule: z.unknown().optional(), set: z.unknown().optional() }),
  ),
});

/** A base chain for inbound packets, and its table. */
export interface NftInput {
  family: string;
  table: string;
  chain: string;
  chains: FilterTable;
  /** Whether the table belongs to iptables and has conditions that only iptables can print. */
  isForeign: boolean;
}

/**
 * Reads `nft -j list ruleset`.
 * @param transport protocol of the packets for which the rules are read
 * @throws when the text is not its output
 * Source: libnftables-json(5).
 */
export function readNftRuleset(text: string, transport: Transport): NftInput[] {
  const ruleset = rulesetSchema.parse(JSON.parse(text));
  const chains = ruleset.nftables.flatMap(({ chain }) =>
    chain === undefined ? [] : [chainSchema.parse(chain)],
  );
  const rules = ruleset.nftables.flatMap(({ rule }) => (rule === undefined ? [] : [ruleSchema.parse(rule)]));
  const sets = ruleset.nftables.flatMap(({ set }) => (set === undefined ? [] : [setSchema.parse(set)]));
  return chains
    .filter(({ hook, type }) => hook === 'input' && type === 'filter')
    .map(({ family, table, name }) => {
      const isHere = (other: { family: string; table: string }) =>
        other.family === family && other.table === table;
      const named = new Map(sets.filter(isHere).map((set) => [set.name, portsOf(set.elem, new Map())]));
      const own = rules.filter(isHere);
      return {
        family,
        table,
        chain: name,
        chains: new Map(
          chains.filter(isHere).map((chain): [string, FilterChain] => [
            chain.name,
            {
              rules: own
                .filter((rule) => rule.chain === chain.name)
                .flatMap((rule) => readRule(rule.expr, { named, transport })),
              policy: chain.hook === undefined ? null : chain.policy === 'drop' ? 'drop' : 'accept',
            },
          ]),
        ),
        isForeign: own.some(({ expr }) => expr.some((part) => 'xt' in part)),
      };
    });
}

type Expression = Record<string, unknown>;
type NamedSets = ReadonlyMap<string, PortSet | null>;
interface RuleContext {
  named: NamedSets;
  transport: Transport;
}

/** Converts one rule. A rule with a verdict map becomes several rules. */
function readRule(expressions: readonly Expression[], context: RuleContext): FilterRule[] {
  const reading = new RuleReading();
  for (const expression of expressions) {
    const [kind, value] = Object.entries(expression)[0] ?? ['', null];
    switch (kind) {
      case 'match':
        readMatch(reading, value as Match, context);
        break;
      case 'accept':
      case 'drop':
      case 'return':
        return [reading.with({ kind })];
      case 'reject':
        return [reading.with({ kind: 'drop' })];
      case 'jump':
      case 'goto':
        return [reading.with({ kind, target: String((value as { target?: unknown }).target) })];
      case 'vmap':
        return readVerdictMap(reading, value as VerdictMap, context);
      case 'counter':
      case 'log':
      case 'comment':
        break;
      default:
        // A limit, meter or condition of another tool, which only some packets match.
        reading.some();
    }
  }
  return [reading.with({ kind: 'none' })];
}

interface Match {
  op: string;
  left: {
    payload?: { protocol: string; field: string };
    meta?: { key: string };
    ct?: { key: string };
    fib?: unknown;
  };
  right: unknown;
}

/** Protocols in conditions about fields of packets. */
const PROTOCOLS = ['udp', 'tcp', 'icmp', 'icmpv6', 'sctp', 'dccp', 'esp'];

function readMatch(
  reading: RuleReading,
  { op, left, right }: Match,
  { named, transport }: RuleContext,
): void {
  const { payload, meta, ct } = left;
  const isNegated = op === '!=';
  const among = (value: string) => valuesOf(right).includes(value) !== isNegated;
  if (payload?.field === 'dport' && [transport, 'th'].includes(payload.protocol)) {
    const ports = portsOf([right], named);
    if (ports === null) reading.some();
    else reading.only(isNegated ? complement(ports) : ports);
    return;
  }
  const isProtocol = meta?.key === 'l4proto' || payload?.field === 'protocol' || payload?.field === 'nexthdr';
  if (isProtocol) {
    if (!among(transport) && !among(PROTOCOL_NUMBER[transport])) reading.never();
    return;
  }
  if (payload !== undefined && payload.protocol !== transport && PROTOCOLS.includes(payload.protocol)) {
    reading.never();
    return;
  }
  if (meta?.key === 'iifname' || meta?.key === 'iif') {
    if (valuesOf(right).every((name) => name === 'lo')) {
      if (!isNegated) reading.never();
    } else reading.some();
    return;
  }
  if (ct?.key === 'state') {
    if (!among('new')) reading.never();
    return;
  }
  if (ct?.key === 'status') {
    if (!isNegated) reading.never();
    return;
  }
  if (left.fib !== undefined && JSON.stringify(left.fib).includes('"daddr"')) {
    if (!among('local')) reading.never();
    return;
  }
  reading.some();
}

interface VerdictMap {
  key: Match['left'];
  data: { set?: [unknown, Expression][] };
}

function readVerdictMap(
  reading: RuleReading,
  { key, data }: VerdictMap,
  { transport }: RuleContext,
): FilterRule[] {
  const context = { named: new Map(), transport };
  return (data.set ?? []).flatMap(([value, verdict]) => {
    const entry = new RuleReading();
    entry.ports = reading.ports;
    entry.isCertain = reading.isCertain;
    readMatch(entry, { op: '==', left: key, right: value }, context);
    return readRule([verdict], context).map((rule) => entry.with(rule.verdict));
  });
}

/** Values on the right side of a match: one value, a list, or a set. */
function valuesOf(right: unknown): string[] {
  if (Array.isArray(right)) return right.map(String);
  if (typeof right === 'object' && right !== null && 'set' in right) return valuesOf(right.set);
  return [String(right)];
}

/** @returns null: the set is unknown */
function portsOf(values: readonly unknown[] | undefined, named: NamedSets): PortSet | null {
  let ports: PortSet = [];
  for (const value of values ?? []) {
    const one = portsOfOne(value, named);
    if (one === null) return null;
    ports = portSet([...ports, ...one]);
  }
  return ports;
}

function portsOfOne(value: unknown, named: NamedSets): PortSet | null {
  if (typeof value === 'number') return [[value, value]];
  if (typeof value === 'string') return value.startsWith('@') ? (named.get(value.slice(1)) ?? null) : null;
  if (typeof value !== 'object' || value === null) return null;
  if ('range' in value && Array.isArray(value.range)) {
    const [low, high] = value.range.map(Number);
    return low === undefined || high === undefined ? null : [[low, high]];
  }
  if ('set' in value && Array.isArray(value.set)) return portsOf(value.set, named);
  return null;
}
