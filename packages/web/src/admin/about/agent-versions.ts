import type { Host } from '@footlight/protocol/rest';

/** Agents of one version. */
export interface AgentVersion {
  /** null: the host has not registered yet */
  version: string | null;
  hosts: readonly Pick<Host, 'id' | 'node_name'>[];
}

/** The versions of the agents, the most frequent first. */
export function agentVersions(
  hosts: readonly Pick<Host, 'id' | 'node_name' | 'agent_version'>[],
): AgentVersion[] {
  const versions = new Map<string | null, Pick<Host, 'id' | 'node_name'>[]>();
  for (const host of hosts)
    versions.set(host.agent_version, [...(versions.get(host.agent_version) ?? []), host]);
  return [...versions]
    .map(([version, hosts]) => ({ version, hosts }))
    .sort((a, b) => b.hosts.length - a.hosts.length);
}
