import { eventually, PATIENCE_MS } from './program.ts';

/**
 * Waits until a host takes sessions. It is online, and its heartbeats are answered, before its first capacity report is
 * stored; until then no session is placed there (docs/hosts.md, "Host status").
 * @param read the host as GET /v1/hosts shows it; undefined: the host is not known yet
 * @throws Error after a minute
 */
export async function takesSessions(read: () => Promise<{ capacity: unknown } | undefined>): Promise<void> {
  await eventually('the host takes sessions', PATIENCE_MS, async () => (await read())?.capacity ?? null);
}
