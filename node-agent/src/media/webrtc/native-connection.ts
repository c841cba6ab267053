/** What every connection of the WebRTC library needs: its ports and address, and the candidates of the other side. */
import type { PeerConnection, RtcConfig } from 'node-datachannel';
import { candidateLine, judgeCandidate } from './candidates.ts';
import type { LocalNameResolver } from './mdns.ts';

/**
 * Where a connection listens.
 * @param addresses addresses to offer; null: all
 * @param ports inclusive range of UDP ports; null: the ephemeral ports
 */
export function bindingOf(
  addresses: readonly string[] | null,
  ports: readonly [number, number] | null,
): Pick<RtcConfig, 'portRangeBegin' | 'portRangeEnd' | 'bindAddress'> {
  const [portRangeBegin, portRangeEnd] = ports ?? [1024, 65535];
  const [only, ...others] = addresses ?? [];
  // The library can bind only one address. If several are configured, candidates with other addresses are dropped
  // instead.
  const isOne = only !== undefined && only !== '' && others.length === 0;
  return { portRangeBegin, portRangeEnd, ...(isOne ? { bindAddress: only } : {}) };
}

/**
 * Checks a candidate of the other side.
 * @param line untrusted; "" ends the candidates
 * @param use called with the candidate if it may be used: at once, or after its local name is resolved
 */
export function checkCandidate(line: string, resolver: LocalNameResolver, use: (line: string) => void): void {
  const verdict = judgeCandidate(line);
  if (verdict.kind === 'use') use(candidateLine(verdict.candidate));
  if (verdict.kind === 'resolve') {
    void resolver.resolve(verdict.name).then((address) => {
      if (address !== null) use(candidateLine(verdict.candidate, address));
    });
  }
}

/** Gives a checked candidate to a connection that is not closed. */
export function addRemoteCandidate(connection: PeerConnection, line: string, mid: string): void {
  try {
    connection.addRemoteCandidate(line, mid);
  } catch {
    // Ignored: an unusable candidate only means one path less.
  }
}
