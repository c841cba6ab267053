import { errorText } from '@footlight/platform';
import { readIptablesSave } from './iptables.ts';
import { type NftInput, readNftRuleset } from './nftables.ts';
import { filteredPorts, type Transport } from './packet-filter.ts';
import { type PortSet, portWords } from './port-set.ts';

/** Output of a tool. absent: the tool is not installed. refused: the tool is installed, but gave no answer. */
export type ToolAnswer =
  | { kind: 'absent' }
  | { kind: 'refused'; why: string }
  | { kind: 'text'; text: string };

export interface FirewallAnswers {
  nft: ToolAnswer;
  iptablesSave: ToolAnswer;
  ip6tablesSave: ToolAnswer;
  ufw: ToolAnswer;
  firewalld: ToolAnswer;
}

/**
 * Whether packets of viewers by one transport reach this host. unanswered: no tool is installed (`why` is null), or no
 * installed tool gave an answer. unknown: a tool answered, but its rules cannot be evaluated; `ports` are the ports to
 * which viewers send, as text.
 */
export type Firewall =
  | { kind: 'unanswered'; why: string | null }
  | { kind: 'unknown'; why: string; ports: string }
  | { kind: 'open' }
  /** ports: the closed ports as text; where: the chain that closes them; remedy: the command that opens them. */
  | { kind: 'filtered'; ports: string; where: string; remedy: string };

/** One chain that accepts or drops inbound packets. */
interface Gate {
  where: string;
  filtered: PortSet;
  /** The tool that owns the rules. */
  owner: 'nft' | 'iptables' | 'ip6tables' | 'ufw' | 'firewalld';
  /** For nft: family, table and chain. */
  place: string;
}

/**
 * Decides from the tools' answers whether a viewer's first packet is accepted. Pure.
 * @param wanted the ports to which viewers send, see `mediaReachabilityPorts`
 * Source: docs/address.md, "Firewall of a host".
 */
export function decideFirewall(answers: FirewallAnswers, transport: Transport, wanted: PortSet): Firewall {
  const all = Object.values(answers);
  if (!all.some(({ kind }) => kind === 'text')) {
    return { kind: 'unanswered', why: all.find((answer) => answer.kind === 'refused')?.why ?? null };
  }
  const unknown = (why: string): Firewall => ({ kind: 'unknown', why, ports: portWords(wanted).join(', ') });
  const raw = [answers.nft, answers.iptablesSave, answers.ip6tablesSave];
  if (!raw.some(({ kind }) => kind === 'text')) {
    const refused = raw.find((answer) => answer.kind === 'refused');
    return unknown(refused?.why ?? 'neither nft nor iptables is installed, and only they say what is let in');
  }
  try {
    return verdictOf(gatesOf(answers, transport, wanted), transport);
  } catch (error) {
    return unknown(`the rules cannot be read: ${errorText(error, 200)}`);
  }
}

/** Verdicts on the fallback port of media. */
export interface FallbackFirewall {
  port: number;
  udp: Firewall;
  tcp: Firewall;
}

/** @param port null: this host has no fallback port */
export function decideFallback(answers: FirewallAnswers, port: number | null): FallbackFirewall | null {
  if (port === null) return null;
  const decide = (transport: Transport) => decideFirewall(answers, transport, [[port, port]]);
  return { port, udp: decide('udp'), tcp: decide('tcp') };
}

function verdictOf(gates: readonly Gate[], transport: Transport): Firewall {
  const closed = gates.find(({ filtered }) => filtered.length > 0);
  if (closed === undefined) return { kind: 'open' };
  return {
    kind: 'filtered',
    ports: portWords(closed.filtered).join(', '),
    where: closed.where,
    remedy: remedyFor(closed, transport),
  };
}

/**
 * Chains that accept or drop inbound packets, IPv4 first.
 * @throws when iptables owns rules but is not installed, because only iptables can print them
 */
function gatesOf(answers: FirewallAnswers, transport: Transport, wanted: PortSet): Gate[] {
  const ufw = answers.ufw.kind === 'text' && answers.ufw.text.startsWith('Status: active');
  const firewalld = answers.firewalld.kind === 'text' && answers.firewalld.text.trim() === 'running';
  const gates: Gate[] = [];
  const byIptables = new Set<string>();
  for (const [family, program, answer] of [
    ['ip', 'iptables', answers.iptablesSave],
    ['ip6', 'ip6tables', answers.ip6tablesSave],
  ] as const) {
    if (answer.kind !== 'text') continue;
    byIptables.add(family);
    const table = readIptablesSave(answer.text, transport);
    if (table === null) continue;
    gates.push({
      where: `${program}, chain INPUT`,
      filtered: filteredPorts(table, 'INPUT', wanted),
      owner: ufw ? 'ufw' : firewalld ? 'firewalld' : program,
      place: 'INPUT',
    });
  }
  const inputs = answers.nft.kind === 'text' ? readNftRuleset(answers.nft.text, transport) : [];
  for (const input of inputs) {
    const isIptables = input.table === 'filter' && input.chain === 'INPUT';
    // Skipped, because the output of iptables contains these rules more completely.
    if (isIptables && byIptables.has(input.family)) continue;
    if (input.isForeign) {
      throw new Error(`table ${input.family} ${input.table} has rules of iptables, which is not installed`);
    }
    gates.push(nftGate(input, wanted, firewalld));
  }
  return gates;
}

function nftGate(input: NftInput, wanted: PortSet, firewalld: boolean): Gate {
  const place = `${input.family} ${input.table} ${input.chain}`;
  return {
    where: `nftables, chain ${place}`,
    filtered: filteredPorts(input.chains, input.chain, wanted),
    owner: firewalld && input.table === 'firewalld' ? 'firewalld' : 'nft',
    place,
  };
}

/** The command that opens exactly the closed ports, in the syntax of the tool that owns the rules. */
function remedyFor({ owner, place, filtered }: Gate, transport: Transport): string {
  switch (owner) {
    case 'ufw':
      return `ufw allow ${portWords(filtered, ':').join(',')}/${transport}`;
    case 'firewalld': {
      const ports = portWords(filtered).map((port) => `--add-port=${port}/${transport}`);
      return `firewall-cmd --permanent ${ports.join(' ')} && firewall-cmd --reload`;
    }
    case 'iptables':
    case 'ip6tables':
      return `${owner} -I ${place} -p ${transport} -m multiport --dports ${portWords(filtered, ':').join(',')} -j ACCEPT`;
    case 'nft':
      return `nft insert rule ${place} ${transport} dport { ${portWords(filtered).join(', ')} } accept`;
  }
}
