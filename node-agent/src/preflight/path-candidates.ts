/** Decides which candidates a test may use, so that only the tested path can connect. Pure. */
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { fallbackCandidates } from '../media/fallback/offered-candidates.ts';
import { parseCandidate } from '../media/webrtc/candidates.ts';

const isRelay = (line: string) => parseCandidate(line)?.rest.startsWith('typ relay') ?? false;
const isTcp = (line: string) => parseCandidate(line)?.transport.toLowerCase() === 'tcp';

/**
 * The candidates of the host's answer. Like in a session, a path over UDP may also use the fallback port.
 * @param found candidates that the host has gathered and may offer, all of them over UDP
 * @param fallbackPort null: the host has no fallback port
 */
export function answeredCandidates(
  path: NetworkPath,
  found: readonly string[],
  fallbackPort: number | null,
): string[] {
  const fallback =
    fallbackPort === null ? [] : found.flatMap((line) => fallbackCandidates(line, fallbackPort));
  if (path === 'tcp') return fallback.filter(isTcp);
  const own = path === 'udp' ? found.filter((line) => !isRelay(line)) : found;
  return [...own, ...fallback.filter((line) => !isTcp(line))];
}

/**
 * Whether the host uses a candidate of the browser. With ICE-TCP, only the browser connects: a check from the host
 * would open the direct path over UDP.
 */
export function usesCandidate(path: NetworkPath, line: string): boolean {
  switch (path) {
    case 'udp':
      return !isRelay(line);
    case 'tcp':
      return false;
    default:
      return isRelay(line);
  }
}
