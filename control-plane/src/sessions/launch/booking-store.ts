/** Writes of a booking: sessions, and the explanations of their placement. */
import type { Placement } from '@footlight/protocol/rest';
import { lockRows, type Tx, toJson } from '../../platform/database/index.ts';
import type { SessionsTable } from '../../platform/database/tables/sessions.ts';
import { unavailable } from '../../platform/errors.ts';
import { dropNewHome } from '../../storage/index.ts';
import { releaseSlots } from '../placement/slots-store.ts';

/**
 * Undoes a booking that was not announced yet.
 * @returns false: the host has just registered at another replica, which ended the session, because the host did not
 *   list it
 * @throws ApiError 503 when the session was stopped in the meantime, for example because its account was disabled; the
 *   booking then stays
 */
export async function withdrawSession(tx: Tx, row: SessionsTable): Promise<boolean> {
  const { id, gpu_id, host_id, home_app_id, user_id } = row;
  // Lock order: GPU, home, session (docs/database.md, "Lock order").
  if (gpu_id !== null) await lockRows(tx, { gpus: [gpu_id] });
  if (host_id !== null && home_app_id !== null)
    await dropNewHome(tx, { userId: user_id, appId: home_app_id, hostId: host_id }, row.created_at);
  const { numDeletedRows } = await tx
    .deleteFrom('sessions')
    .where('id', '=', id)
    .where('state', '=', 'assigned')
    .executeTakeFirst();
  if (numDeletedRows === 0n) {
    const ended = await tx
      .selectFrom('sessions')
      .select('id')
      .where('id', '=', id)
      .where('state', '=', 'failed')
      .where('end_reason', '=', 'host_lost')
      .executeTakeFirst();
    if (ended !== undefined) return false;
    throw unavailable('The session changed while it was launched. Try again.');
  }
  if (gpu_id !== null) await releaseSlots(tx, gpu_id, row.encode_slots);
  await tx.deleteFrom('session_placements').where('session_id', '=', id).execute();
  return true;
}

/** Inserts sessions with the explanations of their placement. */
export async function insertSessions(
  tx: Tx,
  sessions: readonly { row: SessionsTable; explanation: Placement }[],
): Promise<void> {
  if (sessions.length === 0) return;
  await tx
    .insertInto('sessions')
    .values(sessions.map(({ row }) => row))
    .execute();
  await tx
    .insertInto('session_placements')
    .values(
      sessions.map(({ row, explanation }) => ({ session_id: row.id, explanation: toJson(explanation) })),
    )
    .execute();
}
