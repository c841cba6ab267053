/** Checks a link's `register` message against its upgrade request, and selects the protocol version. Pure. */
import { type AGENT_CLOSE, AGENT_PROTOCOL, type Register } from '@footlight/protocol/agent';

export type Negotiated =
  | { protocol: number }
  /** The link is closed with this code; the close frame contains `why`. */
  | { close: keyof typeof AGENT_CLOSE; why: string };

/**
 * Whether the agent may register, and with which version: the highest version that both sides support.
 * @param upgrade node name and boot id of the socket's upgrade; null: the upgrade had no boot id, so any boot id is
 *   accepted
 * @param speaks versions that this side supports
 */
export function negotiate(
  upgrade: { nodeName: string; bootId: string | null },
  message: Pick<Register, 'node_name' | 'boot_id' | 'protocol'>,
  speaks: { min: number; max: number } = AGENT_PROTOCOL,
): Negotiated {
  if (message.node_name !== upgrade.nodeName) return { close: 'malformed', why: 'another node_name' };
  if (upgrade.bootId !== null && message.boot_id !== upgrade.bootId) {
    return { close: 'malformed', why: 'another boot_id' };
  }
  const protocol = Math.min(message.protocol.max, speaks.max);
  if (protocol < Math.max(message.protocol.min, speaks.min)) {
    return { close: 'protocol_unsupported', why: `${speaks.min}-${speaks.max}` };
  }
  return { protocol };
}
