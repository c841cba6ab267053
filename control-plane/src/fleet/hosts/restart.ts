import { SECOND_MS } from '@footlight/platform';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AgentLinks } from '../links.ts';
import { hostById, setPendingRestart } from './host-store.ts';

const RESTART_ACK_MS = 10 * SECOND_MS;

/**
 * Sessions end with the agent that holds them, so a restart under them has to be meant.
 * @param live sessions that hold a slot of the host
 * @throws ApiError 409 restart_required with that number
 */
export function requireRestartConfirmed(live: number, confirmed: boolean): void {
  if (live > 0 && !confirmed) throw new ApiError('restart_required', { live_sessions: live });
}

/**
 * Tells the agent to restart. The host is pending_restart from before the message leaves, since the agent may be back
 * before its answer was handled; a registration takes that back.
 * @returns whether the agent took the message
 */
export async function restartAgent(
  { database }: Pick<Platform, 'database'>,
  links: AgentLinks,
  hostId: string,
): Promise<boolean> {
  const host = await hostById(database.db, hostId);
  const connectionId = host?.connection_id ?? null;
  if (connectionId === null || !links.isConnected(hostId)) return false;
  await setPendingRestart(database.db, hostId, connectionId, true);
  const result = await links.command(hostId, { type: 'restart' }, RESTART_ACK_MS);
  if (result.kind === 'ok') return true;
  await setPendingRestart(database.db, hostId, connectionId, false);
  return false;
}
