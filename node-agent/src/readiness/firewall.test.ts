import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideFirewall, type FirewallAnswers, type ToolAnswer } from './firewall-verdict.ts';
import type { Transport } from './packet-filter.ts';
import { complement, intersection, type PortSet, portSet, union, without } from './port-set.ts';

/** Recorded output of nft 1.0.6, iptables 1.8.9 and ufw 0.36.2, each run in a separate network namespace. */
const recorded = (name: string): ToolAnswer => ({
  kind: 'text',
  text: readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8'),
});
const text = (value: string): ToolAnswer => ({ kind: 'text', text: value });
const ABSENT: ToolAnswer = { kind: 'absent' };
const NOBODY: FirewallAnswers = {
  nft: ABSENT,
  iptablesSave: ABSENT,
  ip6tablesSave: ABSENT,
  ufw: ABSENT,
  firewalld: ABSENT,
};
const WANTED: PortSet = portSet([
  [5353, 5353],
  [32_768, 60_999],
]);

const decide = (answers: Partial<FirewallAnswers>, wanted = WANTED, transport: Transport = 'udp') =>
  decideFirewall({ ...NOBODY, ...answers }, transport, wanted);

describe('ports that the firewall closes', () => {
  test('nft: a policy of drop; ports that one interface accepts count as open', () => {
    expect(decide({ nft: recorded('nft-strict.json') })).toEqual({
      kind: 'filtered',
      ports: '32768-60999',
      where: 'nftables, chain inet filter input',
      remedy: 'nft insert rule inet filter input udp dport { 32768-60999 } accept',
    });
  });

  test('nft: the ports of a named set are open', () => {
    expect(decide({ nft: recorded('nft-strict.json') }, [[27_020, 27_030]])).toEqual({ kind: 'open' });
  });

  test('nft: a reject at the end of a chain that accepts by policy; the remedy lists the closed ports', () => {
    expect(decide({ nft: recorded('nft-reject.json') })).toMatchObject({
      ports: '40001-60999',
      remedy: 'nft insert rule inet filter input udp dport { 40001-60999 } accept',
    });
    expect(decide({ nft: recorded('nft-reject.json') }, [[40_000, 40_000]])).toEqual({ kind: 'open' });
  });

  test('firewalld: its chains, and the remedy as a command of firewalld', () => {
    const answers = { nft: recorded('nft-firewalld.json'), firewalld: text('running\n') };
    expect(decide(answers)).toMatchObject({
      ports: '32768-60999',
      remedy: 'firewall-cmd --permanent --add-port=32768-60999/udp && firewall-cmd --reload',
    });
  });

  test('iptables: its rules are read from iptables-save, because nft cannot print them', () => {
    const answers = {
      nft: recorded('nft-of-iptables.json'),
      iptablesSave: recorded('iptables-save-strict.txt'),
    };
    expect(decide(answers)).toEqual({
      kind: 'filtered',
      ports: '40001-40999, 41001-60999',
      where: 'iptables, chain INPUT',
      remedy: 'iptables -I INPUT -p udp -m multiport --dports 40001:40999,41001:60999 -j ACCEPT',
    });
  });

  test.each([
    [
      'nft',
      { nft: recorded('nft-strict.json') },
      'nft insert rule inet filter input tcp dport { 8444 } accept',
    ],
    [
      'iptables',
      { iptablesSave: recorded('iptables-save-strict.txt') },
      'iptables -I INPUT -p tcp -m multiport --dports 8444 -j ACCEPT',
    ],
    [
      'ufw',
      { iptablesSave: recorded('iptables-save-ufw.txt'), ufw: recorded('ufw-status.txt') },
      'ufw allow 8444/tcp',
    ],
  ])('%s: a closed TCP port has a command of its own', (_name, answers, remedy) => {
    expect(decide(answers, [[8444, 8444]], 'tcp')).toMatchObject({ ports: '8444', remedy });
    // Rules that accept UDP do not open TCP, and the other way round.
    expect(decide(answers, [[22, 22]])).toMatchObject({ ports: '22' });
    expect(decide(answers, [[22, 22]], 'tcp')).toEqual({ kind: 'open' });
  });

  test('without the iptables program the answer is unknown', () => {
    expect(decide({ nft: recorded('nft-of-iptables.json') })).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('iptables, which is not installed'),
    });
  });

  test('ufw: its chains, with the returns for packets to this host, and the remedy as a command of ufw', () => {
    const answers = { iptablesSave: recorded('iptables-save-ufw.txt'), ufw: recorded('ufw-status.txt') };
    expect(decide(answers)).toMatchObject({ ports: '32768-60999', remedy: 'ufw allow 32768:60999/udp' });
  });

  test('an inactive ufw is ignored', () => {
    const answers = { iptablesSave: recorded('iptables-save-strict.txt'), ufw: text('Status: inactive\n') };
    expect(decide(answers)).toMatchObject({ remedy: expect.stringMatching(/^iptables /) });
  });

  test('IPv6 is judged separately', () => {
    expect(decide({ ip6tablesSave: recorded('iptables-save-strict.txt') })).toMatchObject({
      remedy: expect.stringMatching(/^ip6tables -I INPUT/),
    });
  });

  test.each<[string, Partial<FirewallAnswers>]>([
    ['no rules at all', { nft: recorded('nft-empty.json') }],
    ['no table of iptables', { iptablesSave: text('') }],
    ['only nat', { iptablesSave: text('*nat\n:INPUT DROP [0:0]\nCOMMIT\n') }],
    ['everything accepted', { iptablesSave: text('*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n') }],
    [
      'only some senders blocked',
      { iptablesSave: text('*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 192.0.2.1/32 -j DROP\nCOMMIT\n') },
    ],
    [
      'a rate that is limited',
      {
        iptablesSave: text(
          '*filter\n:INPUT DROP [0:0]\n-A INPUT -p udp -m limit --limit 9/sec -j ACCEPT\nCOMMIT\n',
        ),
      },
    ],
    [
      'everything but loopback',
      { iptablesSave: text('*filter\n:INPUT DROP [0:0]\n-A INPUT ! -i lo -j ACCEPT\nCOMMIT\n') },
    ],
    [
      'a cycle of chains',
      { iptablesSave: text('*filter\n:INPUT ACCEPT [0:0]\n:a - [0:0]\n-A INPUT -j a\n-A a -j a\nCOMMIT\n') },
    ],
  ])('open: %s', (_name, answers) => {
    expect(decide(answers)).toEqual({ kind: 'open' });
  });

  test.each<[string, Partial<FirewallAnswers>, string]>([
    [
      'a manager that answers where the tool below it may not',
      { nft: { kind: 'refused', why: 'nft: Operation not permitted' }, firewalld: text('running\n') },
      'not permitted',
    ],
    ['a manager without the tools below it', { ufw: text('Status: active\n') }, 'neither nft nor iptables'],
    ['output that is no ruleset', { nft: text('nftables 2') }, 'cannot be read'],
    ['another ruleset', { nft: text('{"tables":[]}') }, 'cannot be read'],
  ])('unknown: %s', (_name, answers, why) => {
    expect(decide(answers)).toMatchObject({ kind: 'unknown', why: expect.stringContaining(why) });
  });

  test('no tool is installed, or none answers', () => {
    const refused = { kind: 'refused', why: 'nft: Operation not permitted' } as const;
    expect(decide({})).toEqual({ kind: 'unanswered', why: null });
    expect(decide({ nft: refused })).toEqual({ kind: 'unanswered', why: refused.why });
  });
});

describe('sets of ports', () => {
  const port = fc.nat({ max: 65_535 });
  const set = fc
    .array(fc.tuple(port, port), { maxLength: 6 })
    .map((pairs) => portSet(pairs.map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)));
  const has = (ports: PortSet, one: number) => ports.some(([low, high]) => low <= one && one <= high);

  test('contain the ports that the operations give', () => {
    fc.assert(
      fc.property(set, set, port, (a, b, one) => {
        expect(has(union(a, b), one)).toBe(has(a, one) || has(b, one));
        expect(has(intersection(a, b), one)).toBe(has(a, one) && has(b, one));
        expect(has(without(a, b), one)).toBe(has(a, one) && !has(b, one));
        expect(has(complement(a), one)).toBe(!has(a, one));
      }),
    );
  });
});
