import type { Registration } from './registrations.ts';

/** Limits of the forwarder. Chosen, not measured. */
export const LIMITS = {
  /** Paths at once; each has one or two sockets. */
  paths: 1_024,
  /** Paths to one WebRTC connection. A browser opens one for each pair of its addresses and the host's. */
  pathsPerConnection: 32,
  /** Paths from one address. Many people share the address of a router or of a TURN server. */
  pathsPerAddress: 256,
  /** TCP connections that have not sent a valid request yet: in all, and from one address. */
  unproven: 256,
  unprovenPerAddress: 32,
  /** Time until the first valid request. */
  provenWithinMs: 10_000,
  /** Time without a packet of the browser. Browsers send a check at least every 5 s (RFC 7675, 5.1). */
  idleMs: 30_000,
  /** Unsent bytes of a slow TCP connection; further packets are dropped, as a slow network would drop them. */
  queuedBytes: 256 * 1024,
} as const;

interface LivePath {
  readonly registration: Registration;
  readonly address: string;
}

/** Whether a further path may open. Pure. */
export function mayOpen(paths: Iterable<LivePath>, wanted: LivePath): boolean {
  let [all, ofConnection, ofAddress] = [0, 0, 0];
  for (const { registration, address } of paths) {
    all += 1;
    if (registration.ufrag === wanted.registration.ufrag) ofConnection += 1;
    if (address === wanted.address) ofAddress += 1;
  }
  return all < LIMITS.paths && ofConnection < LIMITS.pathsPerConnection && ofAddress < LIMITS.pathsPerAddress;
}
