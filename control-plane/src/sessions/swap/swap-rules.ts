/**
 * Decides whether a swap may begin, and derives its result from an agent's report. Pure; never throws. Source:
 * docs/sessions.md, "Another app".
 */
import type { SessionStateName } from '@footlight/protocol';
import type { SessionState } from '@footlight/protocol/agent';
import { admitApp, admitRuntime, type RunnableApp, refuseHeldHome } from '../launch/admission.ts';
import type { LaunchApp } from '../launch/app-store.ts';
import type { QuotaSession } from '../launch/quota-store.ts';
import type { Refusal, Refused } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';

export const SWAP_DETAIL = {
  swapping: 'swapping',
  complete: 'swap complete',
  rejected: 'swap rejected',
} as const;

export const notSwappable = (message: string): Refusal => ({ code: 'session_not_swappable', message });

/** Whether the session can change its app now. */
export function admitSession(row: SessionRow | undefined): { row: SessionRow; hostId: string } | Refused {
  if (row === undefined || row.state !== 'running' || row.host_id === null)
    return { refusal: notSwappable('The session does not run.') };
  if (row.swap_state !== null) return { refusal: notSwappable('The session is changing its app already.') };
  return { row, hostId: row.host_id };
}

/**
 * Whether the session can run the app. @param facts.entitled whether the session's owner is entitled; the caller may be
 * another person
 */
export function admitSwap(
  session: Pick<SessionRow, 'video_topology' | 'encode_slots'>,
  facts: { app: LaunchApp | null; parent: LaunchApp | null; entitled: boolean },
): RunnableApp | Refused {
  const found = admitApp(facts.app, facts.parent);
  if ('refusal' in found) return found;
  if (!facts.entitled) {
    const message = 'The owner of the session is not entitled to this app.';
    return { refusal: { code: 'forbidden', message } };
  }
  // A local session is never encoded, so it needs no slots.
  const demanded = session.video_topology === 'local_only' ? 0 : found.owner.default_encode_slots;
  if (demanded > session.encode_slots) {
    const message = `That app needs ${demanded} encode slots, and this session has reserved ${session.encode_slots}.`;
    return { refusal: { code: 'swap_exceeds_reservation', message } };
  }
  return admitRuntime(found);
}

/**
 * Refuses a swap whose app needs a home that cannot be used.
 * @param others the owner's other sessions that use homes
 * @param exists whether the home exists on the host of the session
 */
export function refuseSwapHome(
  { app, owner }: RunnableApp,
  others: readonly Pick<QuotaSession, 'id' | 'home_app_ids'>[],
  exists: boolean,
): Refusal | null {
  const held = refuseHeldHome(owner.id, others);
  if (held !== null || app === owner || exists) return held;
  const message = `This app lives in the home of ${owner.name}, and there is none on the host of this session.`;
  return { code: 'home_not_provisioned', message };
}

/** Stored facts that the result of a swap needs. */
export interface SwapFacts {
  state: SessionStateName;
  /** The app of the latest swap request, and the owner of its home. */
  swap_app_id: string | null;
  swap_home_app_id: string | null;
}

/** Result of a swap. */
export interface SwapStep {
  kind: 'swap';
  /** The requested app; the row must still wait for it. */
  target: string;
  /** The app that now runs; null: the old app continues. */
  app: { app_id: string; home_app_id: string | null } | null;
  /** Whether a later completion is accepted, because the agent sent no ack but may have received the command. */
  may_complete: boolean;
  state_detail: string;
}

/** Longest error text of a rolled-back swap in a session's state_detail (characters). */
const MAX_SWAP_ERROR = 256;

/** The result of a swap in a report; null: the report is not about the latest swap. */
export function decideSwap(facts: SwapFacts, report: Pick<SessionState, 'state' | 'swap'>): SwapStep | null {
  const { swap } = report;
  if (swap === undefined || facts.state !== 'running' || report.state !== 'running') return null;
  if (facts.swap_app_id === null || swap.app_id !== facts.swap_app_id) return null;
  if (swap.result === 'complete') return completed(facts, swap.app_id);
  const why = swap.error === undefined ? '' : `: ${swap.error.slice(0, MAX_SWAP_ERROR)}`;
  return unchanged(swap.app_id, `swap rolled back${why}`);
}

const completed = ({ swap_home_app_id }: SwapFacts, target: string): SwapStep => ({
  kind: 'swap',
  target,
  app: { app_id: target, home_app_id: swap_home_app_id },
  may_complete: false,
  state_detail: SWAP_DETAIL.complete,
});

const unchanged = (target: string, state_detail: string, may_complete = false): SwapStep => ({
  kind: 'swap',
  target,
  app: null,
  may_complete,
  state_detail,
});

/** @param may_complete false: the agent refused; true: the agent sent no ack but may have received the command */
export const swapRejected = (target: string, may_complete: boolean): SwapStep =>
  unchanged(target, SWAP_DETAIL.rejected, may_complete);

/**
 * Result of a swap from the app that a registration lists.
 * @returns null when no swap is pending, or when the agent has accepted it and will report the result
 */
export function decideHeldSwap(
  facts: SwapFacts & { swap_state: 'asked' | 'taken' | null },
  heldAppId: string,
): SwapStep | null {
  const target = facts.swap_app_id;
  if (facts.state !== 'running' || target === null) return null;
  if (heldAppId === target) return completed(facts, target);
  return facts.swap_state === 'asked' ? swapRejected(target, true) : null;
}
