import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideFirewall, type ToolAnswer } from './firewall-verdict.ts';
import { portSet } from './port-set.ts';

const NAMESPACE = `footlight-${process.pid}`;
const WANTED = portSet([
  [5353, 5353],
  [40_000, 40_100],
]);
const FALLBACK = portSet([[8444, 8444]]);
const ABSENT: ToolAnswer = { kind: 'absent' };
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['-V'], { env: ENV, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Runs a shell command in the test's network namespace. */
function inside(line: string): string {
  return execFileSync('ip', ['netns', 'exec', NAMESPACE, 'sh', '-c', line], { env: ENV, encoding: 'utf8' });
}

const answers = (tool: 'nft' | 'iptables') => ({
  nft: tool === 'nft' ? ({ kind: 'text', text: inside('nft -j list ruleset') } as const) : ABSENT,
  iptablesSave: tool === 'iptables' ? ({ kind: 'text', text: inside('iptables-save') } as const) : ABSENT,
  ip6tablesSave: ABSENT,
  ufw: ABSENT,
  firewalld: ABSENT,
});

/** Each remedy is executed: the tool must accept it, and then all ports must be open. */
describe.skipIf(process.getuid?.() !== 0 || !isThere('ip'))(
  'a real packet filter, in a namespace of its own',
  () => {
    beforeAll(() => {
      execFileSync('ip', ['netns', 'add', NAMESPACE]);
    });
    afterAll(() => {
      execFileSync('ip', ['netns', 'del', NAMESPACE]);
    });

    test.skipIf(!isThere('nft'))('nft accepts the remedy, and then viewers can connect', () => {
      inside('nft add table inet filter');
      inside("nft add chain inet filter input '{ type filter hook input priority 0; policy drop; }'");
      inside('nft add rule inet filter input ct state established,related accept');
      inside('nft add rule inet filter input udp dport 5353 accept');
      inside('nft add rule inet filter input reject');
      for (const [transport, wanted, ports] of [
        ['udp', WANTED, '40000-40100'],
        ['tcp', FALLBACK, '8444'],
      ] as const) {
        const before = decideFirewall(answers('nft'), transport, wanted);
        expect(before).toMatchObject({ kind: 'filtered', ports });
        if (before.kind === 'filtered') inside(before.remedy.replace(/(\{.*\})/, "'$1'"));
        expect(decideFirewall(answers('nft'), transport, wanted)).toEqual({ kind: 'open' });
      }
    });

    test.skipIf(!isThere('iptables'))('iptables accepts the remedy, and then viewers can connect', () => {
      inside('iptables -P INPUT DROP');
      inside('iptables -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT');
      for (const [transport, wanted, ports] of [
        ['udp', WANTED, '5353, 40000-40100'],
        ['tcp', FALLBACK, '8444'],
      ] as const) {
        const before = decideFirewall(answers('iptables'), transport, wanted);
        expect(before).toMatchObject({ kind: 'filtered', ports });
        if (before.kind === 'filtered') inside(before.remedy);
        expect(decideFirewall(answers('iptables'), transport, wanted)).toEqual({ kind: 'open' });
      }
    });
  },
);
