/** What a booking writes: sessions, and the explanations of their placement. */
import type { Placement } from '@footlight/protocol/rest';
import { insertStatement, type Tx, toJson } from '../../platform/database/index.ts';
import type { SessionsTable } from '../../platform/database/tables/sessions.ts';

const insertRows = insertStatement('sessions');
const insertPlacements = insertStatement('session_placements');

/** Inserts sessions with the explanations of their placement. */
export async function insertSessions(
  tx: Tx,
  sessions: readonly { row: SessionsTable; explanation: Placement }[],
): Promise<void> {
  await Promise.all([
    insertRows(
      tx,
      sessions.map(({ row }) => row),
    ),
    insertPlacements(
      tx,
      sessions.map(({ row, explanation }) => ({ session_id: row.id, explanation: toJson(explanation) })),
    ),
  ]);
}
