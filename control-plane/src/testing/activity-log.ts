import type { TestApp } from './app.ts';

/** Entry of the activity log, with the details as recorded. */
interface LoggedEntry {
  id: number;
  actor_user_id: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  details: unknown;
  created_at: number;
}

/** Entries with these values, oldest first. Without values: all entries. */
export async function loggedActivity(
  app: TestApp,
  where: { action?: string; target_type?: string; target_id?: string } = {},
): Promise<LoggedEntry[]> {
  // Wait first, because an entry is written after the answer to its operation.
  await app.plane.platform.activity.settled();
  let query = app.plane.platform.database.db.selectFrom('activity').selectAll();
  if (where.action !== undefined) query = query.where('action', '=', where.action);
  if (where.target_type !== undefined) query = query.where('target_type', '=', where.target_type);
  if (where.target_id !== undefined) query = query.where('target_id', '=', where.target_id);
  const rows = await query.orderBy('id').execute();
  return rows.map((row) => ({ ...row, details: JSON.parse(row.details) as unknown }));
}
