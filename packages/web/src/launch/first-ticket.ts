import type { Signaling } from '@footlight/protocol/rest';

const MAX_KEPT = 8;
const SAFETY_MS = 5_000;
const tickets = new Map<string, Signaling>();

/** Keeps the signaling token that came with a launch, so that the first connect needs no second request. */
export function keepTicket(sessionId: string, ticket: Signaling): void {
  tickets.set(sessionId, ticket);
  for (const oldest of tickets.keys()) {
    if (tickets.size <= MAX_KEPT) break;
    tickets.delete(oldest);
  }
}

/** Takes the kept token once; undefined when there is none or it is about to run out. */
export function takeTicket(sessionId: string, nowMs: number): Signaling | undefined {
  const ticket = tickets.get(sessionId);
  tickets.delete(sessionId);
  return ticket !== undefined && Date.parse(ticket.expires_at) - nowMs > SAFETY_MS ? ticket : undefined;
}
