import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CandidateBudget,
  candidateLine,
  isAllowedAddress,
  isOfferable,
  judgeCandidate,
} from './candidates.ts';

const line = (address: string, transport = 'udp') =>
  `candidate:842163049 1 ${transport} 1677729535 ${address} 46154 typ host generation 0`;

describe('addresses to which a viewer may make this host send', () => {
  test.each(['192.0.2.7', '10.1.2.3', '172.16.0.9', '192.168.1.20', '8.8.8.8', 'fd00::2', '2001:db8::1'])(
    '%s is used',
    (address) => {
      expect(judgeCandidate(line(address))).toMatchObject({ kind: 'use', candidate: { address } });
    },
  );

  test.each([
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback in IPv6'],
    ['64:ff9b::7f00:1', 'loopback behind NAT64'],
    ['2002:7f00:1::', 'loopback behind 6to4'],
    ['169.254.169.254', 'link-local, the metadata service'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with a zone'],
    ['224.0.0.251', 'multicast'],
    ['ff02::fb', 'multicast'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['255.255.255.255', 'broadcast'],
    ['0177.0.0.1', 'octal'],
    ['2130706433', 'one number'],
    ['127.1', 'short form'],
    ['internal.example', 'a name'],
  ])('%s is refused: %s', (address) => {
    expect(judgeCandidate(line(address)).kind).toBe('refuse');
  });

  test('a local name must be resolved first, then its address is judged', () => {
    const name = '1f4712db-ea17-4bcf-a596-105139dfd8bf.local';
    const verdict = judgeCandidate(line(name));
    expect(verdict).toMatchObject({ kind: 'resolve', name });
    if (verdict.kind === 'resolve') {
      expect(candidateLine(verdict.candidate, '10.0.0.5')).toBe(line('10.0.0.5'));
    }
    expect(isAllowedAddress('127.0.0.1')).toBe(false);
  });

  test('TCP, other shapes and over-long lines are refused; an empty one is the end', () => {
    expect(judgeCandidate(line('10.0.0.1', 'tcp'))).toEqual({ kind: 'refuse', why: 'transport' });
    expect(judgeCandidate(`${line('10.0.0.1')} ${'x'.repeat(3000)}`)).toMatchObject({ kind: 'refuse' });
    expect(judgeCandidate('candidate:1 1 udp 1 10.0.0.1 99999 typ host')).toMatchObject({ kind: 'refuse' });
    expect(judgeCandidate('')).toEqual({ kind: 'end' });
  });

  test('any text gets a verdict, and no accepted one leads to the host itself', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.ipV4().map((ip) => line(ip)),
          fc.ipV6().map((ip) => line(ip)),
        ),
        (text) => {
          const verdict = judgeCandidate(text);
          if (verdict.kind === 'use') {
            expect(verdict.candidate.address).not.toMatch(
              /^(127\.|0\.0\.0\.0$|169\.254\.|::1$|fe80:|ff[0-9a-f]{2}:)/,
            );
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('64 candidates count', () => {
    const budget = new CandidateBudget();
    const taken = Array.from({ length: 70 }, () => budget.take());
    expect(taken.filter(Boolean)).toHaveLength(64);
  });
});

describe('candidates of the host that are offered', () => {
  const relayed = line('127.0.0.1').replace('typ host', 'typ relay raddr 10.0.0.1 rport 9');
  test.each([
    ['an address of the machine', line('10.0.0.1'), null, true],
    ['a configured one', line('10.0.0.1'), ['10.0.0.1'], true],
    ['one that is not configured', line('10.0.0.2'), ['10.0.0.1'], false],
    ['loopback', line('127.0.0.1'), null, false],
    ['link-local', line('fe80::1'), null, false],
    ['TCP', line('10.0.0.1', 'tcp'), null, false],
    ["a relay's, which is another machine's", relayed, ['10.0.0.1'], true],
    ['no candidate', 'hello', null, false],
  ])('%s', (_what, candidate, addresses, isOffered) => {
    expect(isOfferable(candidate, addresses)).toBe(isOffered);
  });
});
