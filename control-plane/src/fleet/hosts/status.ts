/**
 * The host status machine. States: online, offline, draining. The agent's link moves a host between offline and the
 * other two; administrators move it between online and draining. The wish to drain outlives the link, so a drained
 * host comes back draining.
 */

type HostStatus = 'online' | 'offline' | 'draining';

/** What moves a host: its agent registers, its link is lost (close or read deadline), an administrator acts. */
export type HostInput = 'register' | 'link_lost' | 'drain' | 'uncordon';

export interface HostStanding {
  status: HostStatus;
  /** An administrator wants no new placements here. */
  drainIntent: boolean;
}

/**
 * Where an input takes a host. Pure and total: every state takes every input, and repeating an input changes nothing.
 * Source: docs/fleet.md, "Host status".
 */
export function decideHostStatus(from: HostStanding, input: HostInput): HostStanding {
  switch (input) {
    case 'register':
      return { status: from.drainIntent ? 'draining' : 'online', drainIntent: from.drainIntent };
    case 'link_lost':
      return { status: 'offline', drainIntent: from.drainIntent };
    case 'drain':
      return { status: from.status === 'offline' ? 'offline' : 'draining', drainIntent: true };
    case 'uncordon':
      return { status: from.status === 'offline' ? 'offline' : 'online', drainIntent: false };
  }
}
