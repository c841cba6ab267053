import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Agents } from '../agents.ts';
import { hostById, setPendingRestart } from './host-store.ts';

/**
 * A restart ends the host's sessions, so it needs a confirmation.
 * @param live number of sessions that use a slot of the host
 * @throws ApiError 409 restart_required with that number
 */
export function requireRestartConfirmed(live: number, confirmed: boolean): void {
  if (live > 0 && !confirmed) throw new ApiError('restart_required', { live_sessions: live });
}

/**
 * Sends the agent a restart message. pending_restart is set before the message is sent, because the agent may register
 * again before its answer is handled, and the registration clears pending_restart.
 * @returns whether the agent accepted the message
 */
export async function restartAgent(
  { database }: Pick<Platform, 'database'>,
  agents: Agents,
  hostId: string,
): Promise<boolean> {
  const host = await hostById(database.db, hostId);
  const connectionId = host?.connection_id ?? null;
  if (connectionId === null || (await agents.link(hostId)) === null) return false;
  await setPendingRestart(database.db, hostId, connectionId, true);
  const result = await agents.command(hostId, { type: 'restart' });
  if (result.kind === 'ok') return true;
  await setPendingRestart(database.db, hostId, connectionId, false);
  return false;
}
