/**
 * Compares the stored sessions of a registering host with the sessions that its agent lists. Pure; the caller applies
 * the plan in the transaction of the registration and sends the commands after the commit.
 */
import { isTerminal } from '@footlight/protocol';
import type { HeldSession } from '@footlight/protocol/agent';
import { type ControlEnd, decideHeld, type SessionFacts, type Step } from '../life/state.ts';
import { decideHeldSwap, type SwapStep } from '../swap/swap-rules.ts';

export interface StoredSession extends SessionFacts {
  id: string;
  host_id: string | null;
  swap_state: 'asked' | 'taken' | null;
}

/**
 * Result for one session. kept: the session continues. `step` applies the agent's state (ignore: no change), `swap`
 * applies the result of a swap (null: none), and `command` is sent again. ended_there: the session ended while the link
 * was down. lost: the agent no longer has it. stop_unknown: the agent runs a session that should not run. nothing: the
 * report is only confirmed to the agent.
 */
export type Reconciled =
  | {
      kind: 'kept';
      session_id: string;
      step: Step;
      swap: SwapStep | null;
      command: 'session_start' | 'session_stop' | null;
    }
  | { kind: 'ended_there'; session_id: string; step: Step }
  | { kind: 'lost'; session_id: string; end: ControlEnd }
  | { kind: 'stop_unknown'; session_id: string }
  | { kind: 'nothing'; session_id: string };

/**
 * Plans the reconciliation of one host.
 * @param hostId the registering host
 * @param stored non-final rows of this host, and the rows of listed ids on any host
 * @param held sessions that the agent lists; of several entries with one id the last one is used
 * @param sameBoot false: the last registration came from another agent process
 * @returns one result per session, stored sessions first, in the given order
 */
export function planReconciliation(
  hostId: string,
  stored: readonly StoredSession[],
  held: readonly HeldSession[],
  sameBoot: boolean,
): Reconciled[] {
  const heldById = new Map(held.map((entry) => [entry.session_id, entry]));
  const plan: Reconciled[] = [];
  const known = new Set<string>();
  for (const session of stored) {
    if (session.host_id !== hostId) continue;
    known.add(session.id);
    const there = heldById.get(session.id);
    const row = planStored(session, there, sameBoot);
    if (row !== null) plan.push(row);
  }
  for (const [id, there] of heldById) {
    if (known.has(id)) continue;
    plan.push(
      !isTerminal(there.state)
        ? { kind: 'stop_unknown', session_id: id }
        : { kind: 'nothing', session_id: id },
    );
  }
  return plan;
}

function planStored(
  session: StoredSession,
  there: HeldSession | undefined,
  sameBoot: boolean,
): Reconciled | null {
  const session_id = session.id;
  if (isTerminal(session.state)) {
    if (there === undefined) return null;
    return !isTerminal(there.state) ? { kind: 'stop_unknown', session_id } : { kind: 'nothing', session_id };
  }
  if (there === undefined) {
    const end: ControlEnd = {
      cause: 'host_lost',
      error: 'session not present after the agent reconnected',
      failure_code: sameBoot ? null : 'agent_restarted',
    };
    return { kind: 'lost', session_id, end };
  }
  const step = decideHeld(session, there);
  if (isTerminal(there.state)) return { kind: 'ended_there', session_id, step };
  if (session.state === 'stopping')
    return {
      kind: 'kept',
      session_id,
      step: { kind: 'ignore', why: 'repeat' },
      swap: null,
      command: 'session_stop',
    };
  const unstarted =
    there.state === 'assigned' && (session.state === 'assigned' || session.state === 'starting');
  const swap = there.state === 'running' ? decideHeldSwap(session, there.app_id) : null;
  return { kind: 'kept', session_id, step, swap, command: unstarted ? 'session_start' : null };
}
