import { eventually, PATIENCE_MS } from './program.ts';

/**
 * Waits until a host accepts sessions. A host is online, and its heartbeats are answered, before the service has stored
 * its first capacity report. Before this report the service places no session on the host (docs/hosts.md, "Host
 * status").
 * @param read the host as GET /v1/hosts shows it; undefined: the service does not list the host yet
 * @throws Error after a minute
 */
export async function takesSessions(read: () => Promise<{ capacity: unknown } | undefined>): Promise<void> {
  await eventually('the host takes sessions', PATIENCE_MS, async () => (await read())?.capacity ?? null);
}
