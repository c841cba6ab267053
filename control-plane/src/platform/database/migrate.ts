import { type Kysely, type Migration, type MigrationResultSet, Migrator, sql } from 'kysely';
import type { Dialect } from './database.ts';
import { firstMigration } from './migrations/0001-first.ts';
import { sessionOrder } from './migrations/0002-session-order.ts';
import { audit } from './migrations/0003-audit.ts';
import { oidc } from './migrations/0004-oidc.ts';
import { sessionGuests } from './migrations/0005-session-guests.ts';
import { homeBase } from './migrations/0006-home-base.ts';
import type { Schema } from './schema.ts';
import type { SchemaStep } from './schema-step.ts';

const STEPS: readonly SchemaStep[] = [firstMigration, sessionOrder, audit, oidc, sessionGuests, homeBase];

/** Names of the migration steps, in the order in which they run. */
export const STEP_NAMES: readonly string[] = STEPS.map(({ name }) => name).sort();

/**
 * Migrates the schema: all steps in one transaction, under a lock, so that other processes wait (an advisory lock on
 * Postgres, the write lock on SQLite). There is no downgrade; restore a backup instead.
 * @throws when a step fails, or the database was created by another release
 */
export async function migrate(db: Kysely<Schema>, dialect: Dialect): Promise<void> {
  try {
    await run((await stepsOf(db, dialect)).migrateToLatest());
  } catch (error) {
    const unknown = await unknownSteps(db).catch(() => []);
    if (unknown.length === 0) throw error;
    throw new Error(
      `the database belongs to another release of Footlight, which made ${unknown.join(', ')}: start that release, or restore a backup that was made before it`,
      { cause: error },
    );
  }
}

/**
 * Steps that `migrate` would run on an existing database, in their order. Empty for a new database, which contains
 * nothing to lose, and for the database of another release, which `migrate` refuses.
 */
export async function pendingSteps(db: Kysely<Schema>, dialect: Dialect): Promise<string[]> {
  const steps = await (await stepsOf(db, dialect)).getMigrations();
  const pending = steps.filter(({ executedAt }) => executedAt === undefined);
  if (pending.length === 0 || pending.length === steps.length) return [];
  return (await unknownSteps(db)).length > 0 ? [] : pending.map(({ name }) => name);
}

async function unknownSteps(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from schema_steps order by name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !STEP_NAMES.includes(name));
}

/**
 * Creates the schema of an earlier release in an empty database, for tests of later steps.
 * @param lastStep name of that release's last step
 */
export async function migrateUpTo(db: Kysely<Schema>, dialect: Dialect, lastStep: string): Promise<void> {
  await run((await stepsOf(db, dialect)).migrateTo(lastStep));
}

async function stepsOf(db: Kysely<Schema>, dialect: Dialect): Promise<Migrator> {
  // Without the schema, the library could use a table of another schema as its own, for example the one of a second
  // instance.
  const schema = dialect === 'postgres' ? await currentSchema(db) : null;
  const migrations: Record<string, Migration> = {};
  for (const step of STEPS) {
    migrations[step.name] = { up: (tx: Kysely<Schema>) => step.up(tx, dialect) };
  }
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: 'schema_steps',
    migrationLockTableName: 'schema_lock',
    ...(schema !== null && { migrationTableSchema: schema }),
  });
}

/** null: search_path names no existing schema; then the first statement that creates a table fails. */
async function currentSchema(db: Kysely<Schema>): Promise<string | null> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  return rows[0]?.schema ?? null;
}

async function run(migration: Promise<MigrationResultSet>): Promise<void> {
  const { error } = await migration;
  if (error) throw error;
}
