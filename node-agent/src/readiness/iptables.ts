import {
  type FilterChain,
  type FilterRule,
  type FilterTable,
  PROTOCOL_NUMBER,
  RuleReading,
  type Transport,
} from './packet-filter.ts';
import { complement, type PortSet, portSet } from './port-set.ts';

/** Options that do not restrict a rule, because they only load a module or contain a comment. */
const HARMLESS = new Set(['--comment', '-m', '--match', '--reject-with', '--log-prefix', '--log-level']);

/**
 * Reads the table `filter` from the output of `iptables-save` or `ip6tables-save`, of either backend.
 * @param transport protocol of the packets for which the rules are read
 * @returns null: the output does not contain the table
 * Source: iptables-save(8), iptables-extensions(8).
 */
export function readIptablesSave(text: string, transport: Transport): FilterTable | null {
  const lines = text.split('\n');
  const from = lines.indexOf('*filter');
  if (from === -1) return null;
  const chains = new Map<string, FilterChain>();
  for (const line of lines.slice(from + 1)) {
    if (line === 'COMMIT') break;
    const chain = /^:(\S+) (\S+)/.exec(line);
    if (chain !== null) {
      const [, name = '', policy] = chain;
      chains.set(name, { rules: [], policy: policy === '-' ? null : policy === 'DROP' ? 'drop' : 'accept' });
      continue;
    }
    const rule = /^-A (\S+) ?(.*)$/.exec(line);
    if (rule !== null) chains.get(rule[1] ?? '')?.rules.push(readRule(wordsOf(rule[2] ?? ''), transport));
  }
  return chains;
}

function readRule(words: readonly string[], transport: Transport): FilterRule {
  const reading = new RuleReading();
  let verdict: FilterRule['verdict'] = { kind: 'none' };
  for (let at = 0; at < words.length; at += 1) {
    const isNegated = words[at] === '!';
    if (isNegated) at += 1;
    const option = words[at] ?? '';
    const value = words[at + 1] ?? '';
    if (option === '-j' || option === '-g') {
      verdict = verdictOf(option, value);
      at += 1;
    } else if (HARMLESS.has(option)) at += 1;
    else at += readOption(reading, { option, value, isNegated, transport });
  }
  return reading.with(verdict);
}

function verdictOf(option: '-j' | '-g', target: string): FilterRule['verdict'] {
  if (target === 'ACCEPT') return { kind: 'accept' };
  if (target === 'DROP' || target === 'REJECT') return { kind: 'drop' };
  if (target === 'RETURN') return { kind: 'return' };
  // Targets that only have side effects (LOG, MARK) are not chains.
  return { kind: option === '-g' ? 'goto' : 'jump', target };
}

/** @returns the number of words that belong to the option's value */
function readOption(
  reading: RuleReading,
  {
    option,
    value,
    isNegated,
    transport,
  }: { option: string; value: string; isNegated: boolean; transport: Transport },
): number {
  const among = (word: string) => value.split(',').includes(word) !== isNegated;
  switch (option) {
    case '-p':
      if (!among(transport) && !among(PROTOCOL_NUMBER[transport]) && !(value === 'all' && !isNegated))
        reading.never();
      return 1;
    case '-i':
      if (value !== 'lo') reading.some();
      else if (!isNegated) reading.never();
      return 1;
    case '--dport':
    case '--dports': {
      const ports = portsOf(value);
      reading.only(isNegated ? complement(ports) : ports);
      return 1;
    }
    case '--ctstate':
    case '--state':
      if (!among('NEW')) reading.never();
      return 1;
    case '--ctstatus':
      if (!isNegated) reading.never();
      return 1;
    case '--dst-type':
      if (!among('LOCAL')) reading.never();
      return 1;
    default:
      reading.some();
      // A flag has no value, so the next word is another option.
      return value.startsWith('-') || value === '' || value === '!' ? 0 : 1;
  }
}

function portsOf(list: string): PortSet {
  return portSet(
    list.split(',').map((part) => {
      const [low = '0', high = low] = part.split(':');
      return [Number(low), Number(high)] as const;
    }),
  );
}

/** Words of a line; a quoted word may contain spaces. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}
