/** Selects the verdict that a session's record shows. Pure. Source: docs/sessions.md, "Health". */
import type { Session } from '@footlight/protocol/rest';
import type { NetworkHealth } from './network-health.ts';
import type { ViewerHealth } from './viewer-health.ts';

/** Known verdicts about a live session. A missing field: no verdict is known. */
export interface KnownHealth {
  /** Verdict on the network path, from the agent's samples. */
  network?: NetworkHealth;
  /** Verdict on the viewer's device, from the samples of its player. */
  viewing?: ViewerHealth;
}

/** Whether the network has a verdict that is shown instead of the verdict on the viewer. */
export const overridesViewer = ({ network }: KnownHealth): boolean =>
  network !== undefined && network.state !== null && network.state !== 'healthy';

/** health_state and health_reason of a session that has not ended; both are missing without a verdict. */
export function shownHealth(known: KnownHealth): Pick<Session, 'health_state' | 'health_reason'> {
  const { network, viewing } = known;
  const shown =
    viewing !== undefined && viewing.state !== null && !overridesViewer(known) ? viewing : network;
  if (shown === undefined || shown.state === null) return {};
  return { health_state: shown.state, ...(shown.reason !== null && { health_reason: shown.reason }) };
}
