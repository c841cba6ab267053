import type { Selectable } from 'kysely';
import type { Executor, Tx } from '../platform/database/index.ts';
import { bool, fromJson } from '../platform/database/index.ts';
import type { InstanceSettingsTable } from '../platform/database/tables/accounts.ts';

const ROW = 1;

export type SettingsRow = Selectable<InstanceSettingsTable>;

/** The row of the instance settings, including internal columns. */
export async function loadSettings(db: Executor): Promise<SettingsRow> {
  return db.selectFrom('instance_settings').selectAll().where('id', '=', ROW).executeTakeFirstOrThrow();
}

/** Locks and returns the row until the transaction ends, so that changes run one after another. */
export async function lockSettings(tx: Tx): Promise<SettingsRow> {
  const query = tx.selectFrom('instance_settings').selectAll().where('id', '=', ROW);
  return query.forNoKeyUpdate().executeTakeFirstOrThrow();
}

/** Columns of a change; other functions write the other columns. */
export type SettingColumns = Partial<
  Omit<
    SettingsRow,
    'id' | 'seeded' | 'setup_completed_at' | 'setup_token_digest' | 'updated_by' | 'updated_at'
  >
>;

/** Writes the columns in one statement, so that a reader sees the whole change or nothing of it. */
export async function updateSettings(
  db: Executor,
  columns: SettingColumns,
  change: { updated_by: string; updated_at: number },
): Promise<SettingsRow> {
  return db
    .updateTable('instance_settings')
    .set({ ...columns, ...change })
    .where('id', '=', ROW)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Stores the initial values that the environment variables set, unless an earlier start has stored them. */
export async function seedSettings(
  db: Executor,
  seed: Pick<InstanceSettingsTable, 'registration_mode' | 'storage_provider'>,
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('instance_settings')
    .set({ ...seed, seeded: 1, updated_at: nowMs })
    .where('id', '=', ROW)
    .where('seeded', '=', 0)
    .execute();
}

export async function loadRegistrationMode(
  db: Executor,
): Promise<InstanceSettingsTable['registration_mode']> {
  const row = await db
    .selectFrom('instance_settings')
    .select('registration_mode')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  return row.registration_mode;
}

/** Whether people may share their sessions. The setting cannot change until the transaction ends. */
export async function lockGuestSharing(tx: Tx): Promise<boolean> {
  return bool((await lockSettings(tx)).guest_sharing_enabled);
}

/** Normalized origins that administrators stored. */
export async function loadAllowedOrigins(db: Executor): Promise<string[]> {
  const row = await db
    .selectFrom('instance_settings')
    .select('allowed_origins')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  return fromJson<string[]>(row.allowed_origins);
}

/** Time at which the set-up was finished or skipped, epoch milliseconds; null: not yet. */
export async function loadSetupCompletedAt(db: Executor): Promise<number | null> {
  const row = await db
    .selectFrom('instance_settings')
    .select('setup_completed_at')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  return row.setup_completed_at;
}

/** Keeps the first completion time. */
export async function completeSetup(db: Executor, nowMs: number): Promise<void> {
  await db
    .updateTable('instance_settings')
    .set({ setup_completed_at: nowMs })
    .where('id', '=', ROW)
    .where('setup_completed_at', 'is', null)
    .execute();
}

/** SHA-256 hex of the valid setup token; null: no token is valid. */
export async function loadSetupTokenDigest(db: Executor): Promise<string | null> {
  const row = await db
    .selectFrom('instance_settings')
    .select('setup_token_digest')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  return row.setup_token_digest;
}

export async function storeSetupTokenDigest(db: Executor, digest: string | null): Promise<void> {
  await db
    .updateTable('instance_settings')
    .set({ setup_token_digest: digest })
    .where('id', '=', ROW)
    .execute();
}
