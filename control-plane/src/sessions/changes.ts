/** Computes the session records that an event stream sends, one for each change. Pure. */
import { isTerminal, type SessionStateName } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import type { SessionChange } from '../signaling/index.ts';

type Shown = Required<SessionChange>;

/** Order of the states; a session never moves back. */
const ORDER: readonly SessionStateName[] = ['pending', 'assigned', 'starting', 'running', 'stopping'];
export const stateRank = (state: SessionStateName): number =>
  isTerminal(state) ? ORDER.length : ORDER.indexOf(state);

/**
 * Reconstructs one record for each of several changes, from a single read that came after all of them.
 * @param before the record that was sent last; null: none was sent
 * @param changes in order of their commits; `now` contains all of them, and may contain later ones
 * @returns one record for each visible change; the last one is `now`
 */
export function recordsSince(
  before: Session | null,
  changes: readonly SessionChange[],
  now: Session,
): Session[] {
  if (before === null) return [now];
  const records: Session[] = [];
  let shown = shownOf(before);
  for (const change of changes) {
    // The record sent last was read after this change and already contains it.
    if (change.state !== undefined && stateRank(change.state) < stateRank(shown.state)) continue;
    shown = { ...shown, ...change };
    // No change follows a final state, so `now` is the last record.
    if (isTerminal(shown.state)) break;
    records.push(recordAt(shown, now));
  }
  if (!isTerminal(shown.state) && isShownBy(now, shown)) records.pop();
  return [...records, now];
}

const shownOf = (session: Session): Shown => {
  const { state, state_detail, app_id, app_launch_state, health_state, health_reason } = session;
  return {
    state,
    state_detail,
    app_id,
    observed: {
      ...(app_launch_state !== undefined && { app_launch_state }),
      ...(health_state !== undefined && { health_state }),
      ...(health_reason !== undefined && { health_reason }),
    },
  };
};

const isShownBy = (now: Session, shown: Shown): boolean =>
  now.state === shown.state &&
  now.state_detail === shown.state_detail &&
  now.app_id === shown.app_id &&
  now.app_launch_state === shown.observed.app_launch_state &&
  now.health_state === shown.observed.health_state &&
  now.health_reason === shown.observed.health_reason;

/** The record after one change. Observed fields of `now` are left out, because they may be newer than the change. */
function recordAt({ observed, ...shown }: Shown, now: Session): Session {
  const { app_launch_state: _, health_state: __, health_reason: ___, ...rest } = now;
  return {
    ...rest,
    ...observed,
    ...shown,
    ...(stateRank(shown.state) < stateRank('running') && { started_at: null }),
    ...(!isTerminal(shown.state) && {
      error_message: null,
      failure_code: null,
      end_reason: null,
      app_log_tail: null,
      ended_at: null,
    }),
  };
}
