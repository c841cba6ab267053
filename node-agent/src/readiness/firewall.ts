import { readFileSync } from 'node:fs';
import { errorText } from '@footlight/platform';
import { runProgram } from '../runtime/programs/run-program.ts';
import type { FirewallAnswers, ToolAnswer } from './firewall-verdict.ts';
import { type PortSet, portSet } from './port-set.ts';

/** Port of mDNS (RFC 6762, 3). */
const MDNS_PORT = 5353;
/** Linux's default range of ephemeral ports. */
const USUAL_EPHEMERAL: readonly [number, number] = [32_768, 60_999];
/**
 * Time limit of a tool, because a tool that waits for a lock must not block the readiness checks. Chosen, not measured.
 */
const ASK_LIMIT_MS = 3_000;
/** Longest output of a tool, enough for tens of thousands of rules. Chosen, not measured. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/** UDP ports to which viewers send. @param configured the configured range; null: ephemeral ports are used */
export function mediaReachabilityPorts(configured: readonly [number, number] | null): PortSet {
  return portSet([[MDNS_PORT, MDNS_PORT], mediaPorts(configured)]);
}

/** UDP ports of media, inclusive. @param configured the configured range; null: ephemeral ports are used */
export function mediaPorts(configured: readonly [number, number] | null): readonly [number, number] {
  return configured ?? ephemeralPorts();
}

function ephemeralPorts(): readonly [number, number] {
  try {
    const [low, high] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
      .trim()
      .split(/\s+/)
      .map(Number);
    return low !== undefined && high !== undefined && low <= high ? [low, high] : USUAL_EPHEMERAL;
  } catch {
    return USUAL_EPHEMERAL;
  }
}

/** Queries every packet filter tool of Linux, without changing rules. */
export async function readFirewall(): Promise<FirewallAnswers> {
  const [nft, iptablesSave, ip6tablesSave, ufw, firewalld] = await Promise.all([
    runTool('nft', '-j', 'list', 'ruleset'),
    runTool('iptables-save'),
    runTool('ip6tables-save'),
    runTool('ufw', 'status'),
    runTool('firewall-cmd', '--state'),
  ]);
  return { nft, iptablesSave, ip6tablesSave, ufw, firewalld };
}

async function runTool(program: string, ...args: string[]): Promise<ToolAnswer> {
  const answer = await runProgram(program, args, {
    limitMs: ASK_LIMIT_MS,
    maxBytes: ANSWER_BYTES,
    // Untranslated output. PATH includes the directories of these tools, which an ordinary user's PATH lacks.
    env: { LC_ALL: 'C', PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
  });
  if (answer.kind === 'ok') return { kind: 'text', text: answer.stdout };
  if (answer.kind === 'not_started' && answer.code === 'ENOENT') return { kind: 'absent' };
  return { kind: 'refused', why: `${program}: ${errorText(answer.why, 200)}` };
}
