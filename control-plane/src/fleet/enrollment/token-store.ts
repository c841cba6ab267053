import type { Executor, Tx } from '../../platform/database/database.ts';
import type { EnrollmentTokensTable } from '../../platform/database/tables/fleet.ts';

export function tokenByHash(db: Executor, tokenHash: string): Promise<EnrollmentTokensTable | undefined> {
  return db
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst();
}

/**
 * Binds a one-use token to the agent that presents it, or spends the token if the agent sent no enroll id. This is one
 * conditional update, so only one of several concurrent agents succeeds.
 * @returns false: another agent has bound the token, or it has expired
 */
export async function bindToken(
  db: Executor,
  id: string,
  pair: { nodeName: string; enrollId: string | null },
  nowMs: number,
): Promise<boolean> {
  const result = await db
    .updateTable('enrollment_tokens')
    .set({
      bound_node_name: pair.nodeName,
      bound_enroll_id: pair.enrollId,
      ...(pair.enrollId === null && { used_at: nowMs }),
    })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .where((row) => row.or([row('node_name', 'is', null), row('node_name', '=', pair.nodeName)]))
    .where((row) =>
      row.or([
        row('bound_node_name', 'is', null),
        ...(pair.enrollId === null
          ? []
          : [
              row.and([
                row('bound_node_name', '=', pair.nodeName),
                row('bound_enroll_id', '=', pair.enrollId),
              ]),
            ]),
      ]),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/**
 * Stores which host record a spent token created or took over. A token that is not spent, because its agent may still
 * repeat the enrollment, stores no record.
 */
export async function nameTokenHost(tx: Tx, id: string, hostId: string): Promise<void> {
  await tx
    .updateTable('enrollment_tokens')
    .set({ host_id: hostId })
    .where('id', '=', id)
    .where('used_at', 'is not', null)
    .execute();
}

/** Spends the token, because the host has connected with the secret that the token gave it. */
export async function spendToken(tx: Tx, id: string, hostId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('enrollment_tokens')
    .set((row) => ({ used_at: row.fn.coalesce('used_at', row.val(nowMs)), host_id: hostId }))
    .where('id', '=', id)
    .execute();
}

export async function insertToken(db: Executor, token: EnrollmentTokensTable): Promise<void> {
  await db.insertInto('enrollment_tokens').values(token).execute();
}

/** Newest first. */
export function listTokens(db: Executor): Promise<EnrollmentTokensTable[]> {
  return db
    .selectFrom('enrollment_tokens')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** @returns the deleted token; undefined when the id is unknown */
export function deleteToken(db: Executor, id: string): Promise<EnrollmentTokensTable | undefined> {
  return db.deleteFrom('enrollment_tokens').where('id', '=', id).returningAll().executeTakeFirst();
}
