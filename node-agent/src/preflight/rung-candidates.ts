/** Decides which candidates a test may use, so that only the tested path can connect. Pure. */
import type { PreflightRung } from '@footlight/protocol/preflight';
import { isOfferable, parseCandidate } from '../media/webrtc/candidates.ts';

const isRelay = (line: string) => parseCandidate(line)?.rest.startsWith('typ relay') ?? false;

/**
 * Whether the host offers a candidate that it has gathered.
 * @param addresses configured addresses; null: all
 */
export function offersCandidate(
  rung: PreflightRung,
  line: string,
  addresses: readonly string[] | null,
): boolean {
  if (rung === 'ice_tcp') return false;
  return isOfferable(line, addresses) && !(rung === 'udp' && isRelay(line));
}

/**
 * Whether the host uses a candidate of the browser. With ICE-TCP, only the browser connects: a check from the host
 * would open the direct path over UDP.
 */
export function usesCandidate(rung: PreflightRung, line: string): boolean {
  switch (rung) {
    case 'udp':
      return !isRelay(line);
    case 'ice_tcp':
      return false;
    default:
      return isRelay(line);
  }
}
