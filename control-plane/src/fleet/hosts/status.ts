/**
 * The host status machine. States: online, offline, draining. The agent's link moves a host from offline to online or
 * draining and back; administrators move it between online and draining. The drain request stays when the link is lost,
 * so a drained host reconnects as draining.
 */

type HostStatus = 'online' | 'offline' | 'draining';

/** Inputs: the agent registers, the link is lost (close or read deadline), an administrator drains or uncordons. */
export type HostInput = 'register' | 'link_lost' | 'drain' | 'uncordon';

export interface HostStanding {
  status: HostStatus;
  /** An administrator drained the host. */
  drainIntent: boolean;
}

/**
 * The status after an input. Pure and total: every state accepts every input, and repeating an input changes nothing.
 * Source: docs/hosts.md, "Host status".
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
