import type { Signaling } from '@footlight/protocol/rest';

const MAX_KEPT = 8;
const SAFETY_MS = 5_000;
const tickets = new Map<string, Signaling>();

/** Stores the signaling token of a launch, so that the first connection needs no second request. */
export function keepTicket(sessionId: string, ticket: Signaling): void {
  tickets.set(sessionId, ticket);
  for (const oldest of tickets.keys()) {
    if (tickets.size <= MAX_KEPT) break;
    tickets.delete(oldest);
  }
}

/** Returns the stored token once; undefined: no token is stored, or it expires soon. */
export function takeTicket(sessionId: string, nowMs: number): Signaling | undefined {
  const ticket = tickets.get(sessionId);
  tickets.delete(sessionId);
  return ticket !== undefined && Date.parse(ticket.expires_at) - nowMs > SAFETY_MS ? ticket : undefined;
}
